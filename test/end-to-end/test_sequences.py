"""Sequences and optionals whose length the run decides."""
import onnxfile as onnx
import support
from onnxfile import BOOL, INT64, chunk, graph, integer, node, tensor, value
from test_control_flow import FOLDER, check, compiled, npy

EMPTY = node("SequenceEmpty", [], ["s0"], dtype=1)
NUMBERS = [tensor("zero", [], [0], INT64), tensor("one", [], [1], INT64), tensor("two", [], [2], INT64),
           tensor("last", [], [-1], INT64), tensor("begin", [1], [0], INT64)]
X = [0.5 * i - 1 for i in range(12)]  # [6, 2]
MX = [value("m", [], INT64), value("x", [6, 2])]


def sequence(name):
    """Of tensors of floats."""
    return chunk(1, name) + chunk(2, chunk(4, chunk(1, chunk(1, integer(1, 1)))))


def body(nodes):
    return graph([node("Identity", ["on"], ["more"])] + nodes,
                 [value("i", [], INT64), value("on", [], BOOL), sequence("s")],
                 [value("more", [], BOOL), sequence("s2")])


def loop(nodes):
    return node("Loop", ["m", "", "s0"], ["all"], body=body(nodes))


def concat(output, axis, new_axis=0, source="all"):
    return node("ConcatFromSequence", [source], [output], axis=axis, new_axis=new_axis)


# y = x + i, all of one shape; or the first i + 1 rows of x.
SAME = [node("Cast", ["i"], ["f"], to=1), node("Add", ["x", "f"], ["y"])]
RAGGED = [node("Add", ["i", "one"], ["i1"]), node("Unsqueeze", ["i1", "begin"], ["end"]),
          node("Slice", ["x", "begin", "end", "begin"], ["y"])]
APPEND = [node("SequenceInsert", ["s", "y"], ["s2"])]


def same(count):
    return [[v + i for v in X] for i in range(count)]


def ragged(count):
    return [X[:2 * (i + 1)] for i in range(count)]


def flat(lists):
    return [v for values in lists for v in values]


def given(m, **more):
    return {"m": ((), "q", [m]), "x": ((6, 2), "f", X), **more}


def append():
    """Joined along the first axis, stacked, counted."""
    plan = compiled("append", onnx.model(
        [EMPTY, loop(SAME + APPEND), concat("rows", 0), concat("stack", 1, 1),
         node("SequenceLength", ["all"], ["n"])],
        MX, [value("rows", ["r", 2]), value("stack", [6, "k", 2]), value("n", [], INT64)], NUMBERS), "--bound",
        "all.0=9")
    for m in (0, 1, 5, 9):
        each = same(m)
        stack = [each[j][2 * r + c] for r in range(6) for j in range(m) for c in range(2)]
        check(plan, given(m), {"rows": ((6 * m, 2), flat(each)), "stack": ((6, m, 2), stack), "n": ((), [m])})
    arguments = [word for name, path in (("m", npy("append-m.npy", (), "q", [10])),
                                         ("x", npy("append-x.npy", (6, 2), "f", X)))
                 for word in ("--input", f"{name}={path}")]
    support.expect(support.run([support.RUN, plan, *arguments]), 1, "--bound")


def append_copies_what_is_new():
    """The sequence stays where it is: no kernel joins it and the new tensor."""
    plan = compiled("append-in-place", onnx.model([EMPTY, loop(SAME + APPEND), concat("rows", 0)], MX,
                                                  [value("rows", ["r", 2])], NUMBERS), "--bound", "all.0=9")
    text = support.expect(support.run([support.STINT, "inspect", plan]), 0).text
    assert "concat" not in text and "from byte" in text, text


def needs_bound():
    path = FOLDER / "sequence-unbounded.onnx"
    path.write_bytes(onnx.model([EMPTY, loop(SAME + APPEND), concat("rows", 0)], MX, [value("rows", ["r", 2])], NUMBERS))
    support.expect(support.compile_model(path, FOLDER / "no.stint"), 2, "the length of sequence 's'", "--bound all.0=N")


def different_sizes():
    """Tensors of 1, 2, 3 … rows; computed positions, also from the end."""
    plan = compiled("sizes", onnx.model(
        [EMPTY, loop(RAGGED + APPEND), concat("rows", 0), node("SequenceAt", ["all", "k"], ["one_of"])],
        MX + [value("k", [], INT64)], [value("rows", ["r", 2]), value("one_of", ["p", 2])], NUMBERS), "--bound",
        "all.0=6")
    for m in (1, 3, 6):
        each = ragged(m)
        for k in {0, m - 1, -1, -m}:
            check(plan, given(m, k=((), "q", [k])),
                  {"rows": ((m * (m + 1) // 2, 2), flat(each)), "one_of": ((len(each[k]) // 2, 2), each[k])})
    arguments = [word for name, path in (("m", npy("sizes-m.npy", (), "q", [2])), ("k", npy("sizes-k.npy", (), "q", [2])),
                                         ("x", npy("sizes-x.npy", (6, 2), "f", X)))
                 for word in ("--input", f"{name}={path}")]
    support.expect(support.run([support.RUN, plan, *arguments]), 1, "position", "SequenceAt")


def insert_and_erase():
    """Inserted at the front, one erased at a computed position."""
    for name, nodes, reference in (("same", SAME, same), ("ragged", RAGGED, ragged)):
        plan = compiled(f"erase-{name}", onnx.model(
            [EMPTY, loop(nodes + [node("SequenceInsert", ["s", "y", "zero"], ["s2"])]),
             node("SequenceErase", ["all", "k"], ["fewer"]), concat("rows", 0, source="fewer")],
            MX + [value("k", [], INT64)], [value("rows", ["r", 2])], NUMBERS), "--bound", "all.0=6")
        for m in (2, 5):
            for k in (0, 1, -1):
                each = reference(m)[::-1]
                del each[k]
                rows = flat(each)
                check(plan, given(m, k=((), "q", [k])), {"rows": ((len(rows) // 2, 2), rows)})


def some_of_them():
    """Appended in a branch of an If, in a loop in a loop; the outer one ends early."""
    then = graph([node("SequenceInsert", ["s", "y"], ["longer"])], [], [sequence("longer")])
    other = graph([node("Identity", ["s"], ["equal"])], [], [sequence("equal")])
    odd = [node("Mod", ["i", "two"], ["rest"]), node("Cast", ["rest"], ["odd"], to=BOOL),
           node("If", ["odd"], ["s2"], then_branch=then, else_branch=other)]
    plan = compiled("odd", onnx.model([EMPTY, loop(SAME + odd), concat("rows", 0)], MX, [value("rows", ["r", 2])],
                                      NUMBERS), "--bound", "all.0=9")
    for m in (1, 2, 7):
        rows = flat(same(m)[1::2])
        check(plan, given(m), {"rows": ((len(rows) // 2, 2), rows)})
    inner = graph([node("Identity", ["jon"], ["jmore"]), node("Cast", ["j"], ["jf"], to=1),
                   node("Add", ["x", "jf"], ["z"]), node("SequenceInsert", ["t", "z"], ["t2"])],
                  [value("j", [], INT64), value("jon", [], BOOL), sequence("t")],
                  [value("jmore", [], BOOL), sequence("t2")])
    nested = [node("Less", ["i", "k"], ["go"]), node("Loop", ["i", "", "s"], ["s2"], body=inner)]
    plan = compiled("nested-sequence", onnx.model(
        [EMPTY, node("Loop", ["", "", "s0"], ["all"], body=graph(
            nested, [value("i", [], INT64), value("on", [], BOOL), sequence("s")],
            [value("go", [], BOOL), sequence("s2")])), concat("rows", 0)],
        [value("k", [], INT64), value("x", [6, 2])], [value("rows", ["r", 2])], NUMBERS),
        "--bound", "all.0=20", "--bound", "s2.0=20")
    for k in (1, 4):
        rows = flat(flat(same(i) for i in range(k + 1)))
        check(plan, {"k": ((), "q", [k]), "x": ((6, 2), "f", X)}, {"rows": ((len(rows) // 2, 2), rows)})


def branches():
    """Branches that return lists of different lengths, of tensors of different sizes."""
    then = graph([node("SequenceConstruct", ["x", "w"], ["a"])], [], [sequence("a")])
    other = graph([node("SequenceConstruct", ["w"], ["b"])], [], [sequence("b")])
    plan = compiled("branch-lists", onnx.model(
        [node("If", ["c"], ["all"], then_branch=then, else_branch=other), concat("rows", 0),
         node("SequenceAt", ["all", "last"], ["end"]), node("SequenceLength", ["all"], ["n"])],
        [value("c", [], BOOL), value("x", [6, 2]), value("w", ["k", 2])],
        [value("rows", ["r", 2]), value("end", ["e", 2]), value("n", [], INT64)], NUMBERS), "--dim", "k=1..4")
    for k in (1, 3):
        w = [float(i) for i in range(2 * k)]
        for c in (0, 1):
            rows = (X if c else []) + w
            check(plan, {"c": ((), "B", [c]), "x": ((6, 2), "f", X), "w": ((k, 2), "f", w)},
                  {"rows": ((len(rows) // 2, 2), rows), "end": ((k, 2), w), "n": ((), [1 + c])})


def optional():
    """Nothing at first, then the sum of all before."""
    element = chunk(1, integer(1, 1) + chunk(2, chunk(1, integer(1, 6)) + chunk(1, integer(1, 2))))

    def maybe(name):
        return chunk(1, name) + chunk(2, chunk(9, chunk(1, element)))
    then = graph([node("OptionalGetElement", ["o"], ["e"]), node("Add", ["e", "x"], ["t"])], [], [value("t", [6, 2])])
    other = graph([node("Neg", ["x"], ["u"])], [], [value("u", [6, 2])])
    inside = graph([node("Identity", ["on"], ["more"]), node("OptionalHasElement", ["o"], ["has"]),
                    node("If", ["has"], ["r"], then_branch=then, else_branch=other), node("Optional", ["r"], ["o2"])],
                   [value("i", [], INT64), value("on", [], BOOL), maybe("o")], [value("more", [], BOOL), maybe("o2")])
    plan = compiled("optional", onnx.model(
        [node("Optional", [], ["o0"]), node("Loop", ["m", "", "o0"], ["end"], body=inside),
         node("OptionalHasElement", ["end"], ["there"]),
         node("OptionalGetElement", ["end"], ["y"])], MX, [value("there", [], BOOL), value("y", [6, 2])], NUMBERS,
        opset=18))
    for m in (1, 2, 4):
        check(plan, given(m), {"there": ((), [1]), "y": ((6, 2), [(m - 2) * v for v in X])})
    arguments = [word for name, path in (("m", npy("optional-m.npy", (), "q", [0])),
                                         ("x", npy("optional-x.npy", (6, 2), "f", X)))
                 for word in ("--input", f"{name}={path}")]
    support.expect(support.run([support.RUN, plan, *arguments]), 1, "OptionalGetElement")


def split_and_map():
    """Cut at computed places along the second axis, each part negated, joined."""
    negate = graph([node("Neg", ["part"], ["minus"])], [value("part", [4, "p"])], [value("minus", [4, "p"])])
    plan = compiled("split-map", onnx.model(
        [node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1), node("SequenceMap", ["parts"], ["all"], body=negate),
         concat("y", 1), node("SequenceAt", ["all", "one"], ["second"])],
        [value("x", [4, 5]), value("sizes", ["n"], INT64)], [value("y", [4, "q"]), value("second", [4, "r"])], NUMBERS,
        opset=18), "--dim", "n=2..4")
    x = [float(i % 7) for i in range(20)]
    for sizes in ([2, 3], [1, 0, 4], [1, 1, 2, 1]):
        second = [-x[5 * r + c] for r in range(4) for c in range(sizes[0], sizes[0] + sizes[1])]
        check(plan, {"x": ((4, 5), "f", x), "sizes": ((len(sizes),), "q", sizes)},
              {"y": ((4, 5), [-v for v in x]), "second": ((4, sizes[1]), second)})


def as_output():
    """Elements of all tensors, and their shapes."""
    plan = compiled("sequence-output", onnx.model([EMPTY, loop(RAGGED + APPEND)], MX, [sequence("all")], NUMBERS),
                    "--bound", "all.0=6")
    check(plan, given(3), {"all.data": ((12,), flat(ragged(3))), "all.shapes": ((3, 2), [1, 2, 2, 2, 3, 2])})


def input_without_shape():
    path = FOLDER / "sequence-input.onnx"
    path.write_bytes(onnx.model([concat("y", 0, source="s")], [sequence("s")], [value("y", ["k", 2])]))
    support.expect(support.compile_model(path, FOLDER / "no.stint", "--dim", "s=2"), 3, "--dim s.0_0=N")
    plan = compiled("sequence-input", path.read_bytes(), "--dim", "s=2", "--dim", "s_0=3", "--dim", "s_1=2")
    a, b = [float(i) for i in range(6)], [-float(i) for i in range(6)]
    check(plan, {"s.0": ((3, 2), "f", a), "s.1": ((3, 2), "f", b)}, {"y": ((6, 2), a + b)})


def tests():
    for function in (append, append_copies_what_is_new, needs_bound, different_sizes, insert_and_erase, some_of_them,
                     branches, optional, split_and_map, as_output, input_without_shape):
        yield function.__name__, function
