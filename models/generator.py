"""Sequences of a decoder's plan from Python, through libstint (stint.h, section "Generation").

    generator = Generator("assistant.stint", threads=2)
    sequence = generator.add([1, 15, 9], max_tokens=20)
    while generator.step(): pass
    generator.tokens(sequence)                  # prompt and what follows, always the likeliest

Needs only Python's standard library.
"""
import ctypes

import libstint


class SequenceOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("sampling", ctypes.c_void_p), ("max_tokens", ctypes.c_uint32),
                ("stop_ids", ctypes.c_void_p), ("stop_count", ctypes.c_uint32), ("on_token", ctypes.c_void_p),
                ("user", ctypes.c_void_p)]


class StepInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint32) for name in (
        "tokens", "sequences", "generated", "ready")]


class Generator:
    def __init__(self, plan, threads=1):
        self.model = libstint.Model(plan, threads, decoder=True)
        self.library, self.check = self.model.library, self.model.check
        self.generator = ctypes.c_void_p()
        self.check(self.library.stint_generator_create(self.model.session, None, ctypes.byref(self.generator)))

    def close(self):
        self.library.stint_generator_destroy(self.generator)
        self.model.close()

    def add(self, tokens, max_tokens):
        """A new sequence, by its name."""
        options = SequenceOptions(size=ctypes.sizeof(SequenceOptions), max_tokens=max_tokens)
        name = ctypes.c_uint64()
        self.check(self.library.stint_sequence_add(
            self.generator, (ctypes.c_uint32 * len(tokens))(*tokens), ctypes.c_size_t(len(tokens)),
            ctypes.byref(options), ctypes.byref(name)))
        return name

    def step(self):
        """One run of the plan: how many sequences would go on."""
        info = StepInfo(size=ctypes.sizeof(StepInfo))
        self.check(self.library.stint_generator_step(self.generator, None, ctypes.byref(info)))
        return info.ready

    def tokens(self, sequence):
        tokens, count = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_size_t()
        self.check(self.library.stint_sequence_tokens(self.generator, sequence, ctypes.byref(tokens),
                                                      ctypes.byref(count)))
        return tokens[:count.value]

    def rewind(self, sequence, count):
        """Keeps the first tokens, and goes on from there."""
        self.check(self.library.stint_sequence_rewind(self.generator, sequence, ctypes.c_size_t(count)))

    def remove(self, sequence):
        self.check(self.library.stint_sequence_remove(self.generator, sequence))
