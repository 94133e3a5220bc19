"""Steps of a decoder's plan through libstint: pages, positions and rows are given by hand, with Python's standard
library only."""
import array

import libstint

PAGE = 32


class Steps:
    def __init__(self, plan, threads=1):
        self.model = libstint.Model(plan, threads)
        self.numbers = {name: number for number, (name, _) in enumerate(self.model.inputs)}
        self.tokens, self.rows = self.model.bounds(0, 1)[1], self.model.bounds(self.numbers["step.rows"], 0)[1]
        pages = self.numbers["step.pages"]
        self.sequences, self.each = self.model.bounds(pages, 0)[1], self.model.bounds(pages, 1)[1]
        # Neighbours in a sequence are never neighbours in memory.
        self.free = sorted(range(self.sequences * self.each), key=lambda page: page * 7919 % 1009)
        self.table = [[-1] * self.each for _ in range(self.sequences)]
        self.lengths = [0] * self.sequences

    def close(self):
        self.model.close()

    def run(self, ids, positions, sequences, table, rows):
        """One step as it is given: the bytes of the logits of each row."""
        flat = [page for pages in table for page in pages]
        kept = []
        for name, kind, values, shape in (("input_ids", "q", ids, (1, len(ids))),
                                          ("step.positions", "i", positions, (len(positions),)),
                                          ("step.sequences", "i", sequences, (len(sequences),)),
                                          ("step.pages", "i", flat, (len(table), self.each)),
                                          ("step.rows", "i", rows, (len(rows),))):
            memory = array.array(kind, values or [0])
            address, _ = memory.buffer_info()
            kept.append(memory)
            self.model.bind_memory(self.numbers[name], address, len(values) * memory.itemsize, shape)
        self.model.execute()
        data, shape = self.model.result_memory(0)
        width = shape[1] * 4
        return [bytes(data[row * width:(row + 1) * width]) for row in range(shape[0])]

    def step(self, parts):
        """`parts`: [(sequence, tokens)]. The logits of every token, in order."""
        ids, positions, sequences = [], [], []
        for sequence, tokens in parts:
            for token in tokens:
                length = self.lengths[sequence]
                if length % PAGE == 0:
                    self.table[sequence][length // PAGE] = self.free.pop()
                ids.append(token)
                positions.append(length)
                sequences.append(sequence)
                self.lengths[sequence] += 1
        return self.run(ids, positions, sequences, self.table, list(range(len(ids))))


def best(logits):
    values = array.array("f", logits)
    return max(range(len(values)), key=values.__getitem__)
