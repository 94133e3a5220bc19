"""Decoders with paged state: stories260K tells its story in both spellings; logits are the same bits however its
tokens are cut into steps, beside whatever other sequences, on however many threads; and as with plain tensors. A
step table that names what is not there is an error."""
import functools
import random

import steps
import support
import test_decoders

FOLDER = support.folder("paged-state")
STORY = test_decoders.STORY
LENGTH = 90  # three pages


@functools.cache
def plan_of(spelling, kept="f32"):
    test_decoders.plan_of(spelling)  # makes the model
    plan = FOLDER / f"{spelling}-{kept}.stint"
    support.expect(support.compile_model(test_decoders.FOLDER / spelling / "model.onnx", plan, "--target", support.BOTH,
                                         "--context", "128", "--max-sequences", "3", "--chunk", "48", "--logit-rows",
                                         "48", "--kv-type", kept), 0)
    return plan


def story(spelling, kept="f32"):
    def test():
        state = steps.Steps(plan_of(spelling, kept))
        token, said = 1, []
        for _ in STORY:
            token = steps.best(state.step([(2, [token])])[0])
            said.append(token)
        assert said == STORY, f"it goes {said}"
        at_once = [steps.best(row) for row in state.step([(0, [1, *STORY[:-1]])])]
        assert at_once == STORY, f"all at once it goes {at_once}"
    return test


def alone(plan, tokens, threads=1):
    """The logits of a sequence, token by token."""
    state = steps.Steps(plan, threads)
    rows = [state.step([(0, [token])])[0] for token in tokens]
    state.close()
    return rows


def invariance(spelling, kept="f32"):
    """Random cuts of three sequences that share steps."""
    def test():
        plan, chance = plan_of(spelling, kept), random.Random(5)
        tokens = [[chance.randrange(test_decoders.VOCABULARY) for _ in range(LENGTH)] for _ in range(3)]
        wanted = [alone(plan, sequence) for sequence in tokens]
        for threads in (1, 2, 3):
            state, found = steps.Steps(plan, threads), [[], [], []]
            while any(len(rows) < LENGTH for rows in found):
                parts, room = [], state.tokens
                for sequence in chance.sample(range(3), 3):
                    done = len(found[sequence])
                    count = min(chance.choice((0, 1, 1, 2, 7, 31, 33)), room, LENGTH - done)
                    if count:
                        parts.append((sequence, tokens[sequence][done:done + count]))
                        room -= count
                rows = state.step(parts)
                for sequence, part in parts:
                    found[sequence] += rows[:len(part)]
                    rows = rows[len(part):]
            state.close()
            for sequence in range(3):
                for position, (one, other) in enumerate(zip(found[sequence], wanted[sequence], strict=True)):
                    assert one == other, f"other bits at position {position} of sequence {sequence}, {threads} threads"
    return test


def plain(spelling, kept="f32", tolerance=1e-5):
    """As with past and present as tensors."""
    def test():
        plan, chance = test_decoders.plan_of(spelling), random.Random(6)
        tokens = [chance.randrange(test_decoders.VOCABULARY) for _ in range(40)]
        first, past = test_decoders.logits_of([support.RUN], plan, spelling, tokens[:31], test_decoders.nothing(), 0)
        second, _ = test_decoders.logits_of([support.RUN], plan, spelling, tokens[31:], past, 1)
        wanted = [*first, *second]
        state = steps.Steps(plan_of(spelling, kept))
        rows = [steps.array.array("f", row) for row in state.step([(0, tokens)])]
        largest = max(abs(value) for row in wanted for value in row)
        worst = max(abs(a - b) for row, other in zip(rows, wanted, strict=True) for a, b in zip(row, other, strict=True))
        assert worst <= tolerance * largest, f"differs by {worst / largest:.1e}"
        return f"{worst / largest:.1e}"
    return test


def bad_tables():
    """Nothing outside the caches is touched; the session goes on."""
    state = steps.Steps(plan_of("genai"))
    good = state.step([(0, [1])])[0]
    table = [list(pages) for pages in state.table]
    big = 2 ** 31 - 1
    for positions, sequences, pages in (([128], [0], table), ([-1], [0], table), ([big], [0], table), ([-big - 1], [0], table),
                                        ([1], [3], table), ([1], [-1], table), ([1], [big], table),
                                        ([1], [0], [[12, *table[0][1:]], *table[1:]]), ([1], [0], [[big, *table[0][1:]], *table[1:]]),
                                        ([33], [0], table), ([1], [1], table)):
        try:
            state.run([5], positions, sequences, pages, [0])
        except steps.libstint.Error as error:
            assert "kernel" in str(error), error
        else:
            raise AssertionError(f"took positions {positions}, sequences {sequences}, pages {pages[0]}")
    for ids in ([-1], [2 ** 62]):
        state.run(ids, [1], [0], table, [0])  # the nearest token is taken
    state.run([5], [1], [0], table, [])
    state.run([], [], [], table, [])
    assert state.run([1], [0], [0], table, [0]) == [good], "other logits after errors"


def refusals():
    """Sizes that can't be."""
    test_decoders.plan_of("genai")
    model = test_decoders.FOLDER / "genai" / "model.onnx"
    for flags, words in ((["--context", "100000"], ["--context 100000", "cos_cache", "1 to 2048"]),
                         (["--context", "0"], ["--context"]), (["--kv-memory", "10"], ["--kv-memory", "page"]),
                         (["--logit-rows", "500"], ["--logit-rows 500", "128"]), (["--chunk", "99999"], ["--chunk"]),
                         (["--dim", "batch_size=2"], ["batch_size", "--state none"]),
                         (["--state", "none"], ["--dim batch_size=LO..HI"])):
        support.expect(support.compile_model(model, FOLDER / "no.stint", *flags), 2, *words)


def less_memory():
    """Steps shrink until they fit --max-ram; what can't fit says what to lower."""
    test_decoders.plan_of("genai")
    model, plan = test_decoders.FOLDER / "genai" / "model.onnx", FOLDER / "small.stint"
    done = support.compile_model(model, plan, "--cpu", "v2", "--context", "128", "--max-ram", "500K", "-v")
    support.expect(done, 0, "steps of 64 tokens")
    assert steps.Steps(plan).tokens == 64
    support.expect(support.compile_model(model, FOLDER / "no.stint", "--cpu", "v2", "--context", "128", "--max-ram", "100K"), 1,
                   "state", "--kv-memory")
    done = support.run([support.STINT, "explain", model, "--context", "128"])
    support.expect(done, 0, "text decoder of 5 layers, state at level 2: 4 pages of 32 positions")


def tests():
    for spelling in test_decoders.SPELLINGS:
        yield f"{spelling}/story", story(spelling)
        yield f"{spelling}/invariance", invariance(spelling)
        yield f"{spelling}/plain", plain(spelling)
    yield "f16/story", story("genai", "f16")
    yield "f16/invariance", invariance("genai", "f16")
    yield "f16/plain", plain("genai", "f16", 3e-3)
    yield "bad-tables", bad_tables
    yield "refusals", refusals
    yield "less-memory", less_memory
