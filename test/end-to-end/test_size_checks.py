"""Sizes that are right for some inputs only: the run works for these, and ends with an error for the others."""
import onnxfile as onnx
import support
from onnxfile import FLOAT, INT64, node, tensor, value

FOLDER = support.folder("size-checks")
CODES = {FLOAT: ("f", "<f4"), INT64: ("q", "<i8")}


def compiled(name, nodes, inputs, initializers=(), flags=(), opset=17, outputs=("y",)):
    path, plan = FOLDER / f"{name}.onnx", FOLDER / f"{name}.stint"
    path.write_bytes(onnx.model(nodes, [value(key, dims, kind) for key, (dims, kind) in inputs.items()],
                                [onnx.chunk(1, output) for output in outputs], initializers, opset=opset))
    support.expect(support.compile_model(path, plan, "--target", "host", "--cpu", "v3", *flags), 0)
    return plan


def run(plan, inputs, *words, outputs=("y",)):
    """`inputs`: {name: (dimensions, values, type)}. What each output is; None where the run must say `words`."""
    flags = []
    for name, (dims, values, kind) in inputs.items():
        letter, dtype = CODES[kind]
        path = FOLDER / f"{name}.npy"
        support.tensors.write_npy(path, tuple(dims), support.tensors.array.array(letter, values), dtype)
        flags += ["--input", f"{name}={path}"]
    for output in outputs:
        flags += ["--output", f"{output}={FOLDER / output}.npy"]
    support.expect(support.run([support.RUN, plan, *flags]), 1 if words else 0, *words)
    if words:
        return None
    read = [support.tensors.read_npy(f"{FOLDER / output}.npy") for output in outputs]
    return [(tuple(shape), list(values)) for shape, values in read]


def integers(name, values):
    return tensor(name, [len(values)], values, INT64)


def row(count):
    return [float(i + 1) for i in range(count)]


def shape_arithmetic_that_grows():
    """Products and sums of a size with itself, 40 times: too long to write down, but not to compute; wraps."""
    for kind, of in (("Mul", lambda v: v * v), ("Add", lambda v: v + v), ("Max", lambda v: v)):
        nodes = [node("Shape", ["x"], ["s0"])]
        nodes += [node(kind, [f"s{i}", f"s{i}"], [f"s{i + 1}"]) for i in range(40)]
        plan = compiled(f"grows-{kind}", [*nodes, node("Identity", ["s40"], ["y"])], {"x": (["n"], FLOAT)},
                        flags=["--dim", "n=0..7"])
        for n in (0, 1, 3, 7):
            wanted = n
            for _ in range(40):
                wanted = of(wanted) % 2**64
            wanted -= 2**64 if wanted >= 2**63 else 0
            assert run(plan, {"x": ((n,), row(n), FLOAT)}) == [((1,), [wanted])], (kind, n)


def mixed_arithmetic_that_grows():
    """s = s · s / (s + 1) + s, over and over."""
    nodes = [node("Shape", ["x"], ["s0"])]
    for i in range(12):
        nodes += [node("Mul", [f"s{i}", f"s{i}"], [f"m{i}"]), node("Add", [f"s{i}", "one"], [f"a{i}"]),
                  node("Div", [f"m{i}", f"a{i}"], [f"d{i}"]), node("Add", [f"d{i}", f"s{i}"], [f"s{i + 1}"])]
    plan = compiled("mixed", [*nodes, node("Concat", ["s12", "s3"], ["y"], axis=0)], {"x": (["n"], FLOAT)},
                    [integers("one", [1])], ["--dim", "n=1..7"])
    for n in (1, 2, 7):
        steps = [n]
        for _ in range(12):
            steps.append(steps[-1] ** 2 // (steps[-1] + 1) + steps[-1])
        assert run(plan, {"x": ((n,), row(n), FLOAT)}) == [((2,), [steps[12], steps[3]])]


def halves():
    """Two equal parts, the second smaller by one: fits any size, also 0."""
    plan = compiled("halves", [node("Split", ["x"], ["a", "b"], axis=0)], {"x": (["n"], FLOAT)},
                    flags=["--dim", "n=0..6"], outputs=("a", "b"))
    for n in range(7):
        x, half = row(n), (n + 1) // 2
        assert run(plan, {"x": ((n,), x, FLOAT)}, outputs=("a", "b")) == [((half,), x[:half]),
                                                                          ((n - half,), x[half:])]


def thirds():
    """Three parts of an axis that may be too small for the last."""
    plan = compiled("thirds", [node("Split", ["x"], ["a", "b", "c"], name="cut", num_outputs=3)],
                    {"x": (["n"], FLOAT)}, flags=["--dim", "n=1..9"], opset=18, outputs=("a", "b", "c"))
    for n in (2, 3, 5, 7, 9):
        x, part = row(n), (n + 2) // 3
        wanted = [x[:part], x[part:2 * part], x[2 * part:]]
        got = run(plan, {"x": ((n,), x, FLOAT)}, outputs=("a", "b", "c"))
        assert got == [((len(values),), values) for values in wanted], (n, got)
    run(plan, {"x": ((1,), [1.0], FLOAT)}, "cut", "part 2", outputs=("a", "b", "c"))


def negative_pads():
    plan = compiled("pads", [node("Pad", ["x", "p"], ["y"], name="crop")], {"x": (["n"], FLOAT)},
                    [integers("p", [-2, -1])], ["--dim", "n=1..6"])
    for n in (3, 4, 6):
        assert run(plan, {"x": ((n,), row(n), FLOAT)}) == [((n - 3,), row(n)[2:-1])]
    for n in (1, 2):
        run(plan, {"x": ((n,), row(n), FLOAT)}, "crop", "pads leave")


def parts_of_a_sequence():
    plan = compiled("parts", [node("SplitToSequence", ["x", "p"], ["s"], name="cut"), node("SequenceAt", ["s", "i"], ["y"])],
                    {"x": (["n"], FLOAT), "i": ([], INT64)}, [integers("p", [1, 2, 1])],
                    ["--dim", "n=0..6"])
    for i, wanted in ((0, [1.0]), (1, [2.0, 3.0]), (-1, [4.0])):
        got = run(plan, {"x": ((4,), row(4), FLOAT), "i": ((), [i], INT64)})
        assert got == [((len(wanted),), wanted)], (i, got)
    for n in (0, 3, 6):
        run(plan, {"x": ((n,), row(n), FLOAT), "i": ((), [0], INT64)}, "cut", "4 to equal n")
    for i in (3, -4, 2**40):
        run(plan, {"x": ((4,), row(4), FLOAT), "i": ((), [i], INT64)}, "SequenceAt", "a position inside the sequence")


def indices_beside_the_axis():
    """Each dimension but the axis is at most that of the data."""
    dims = {"d": (["a", "b"], FLOAT), "i": (["c", "e"], INT64)}
    flags = [word for name in "abce" for word in ("--dim", f"{name}=1..3")]
    gather = compiled("gather", [node("GatherElements", ["d", "i"], ["y"], name="pick", axis=0)], dims, flags=flags)
    scatter = compiled("scatter", [node("ScatterElements", ["d", "i", "u"], ["y"], name="put", axis=0)],
                       {**dims, "u": (["c", "e"], FLOAT)}, flags=flags, opset=18)
    data = {"d": ((2, 2), [1.0, 2.0, 3.0, 4.0], FLOAT), "i": ((3, 1), [1, 0, 1], INT64)}
    assert run(gather, data) == [((3, 1), [3.0, 1.0, 3.0])]
    more = {"u": ((3, 1), [7.0, 8.0, 9.0], FLOAT)}
    assert run(scatter, {**data, **more}) == [((2, 2), [8.0, 2.0, 9.0, 4.0])]
    data["i"] = ((1, 3), [0, 0, 0], INT64)
    run(gather, data, "pick", "e to be at most b")
    run(scatter, {**data, "u": ((1, 3), [7.0, 8.0, 9.0], FLOAT)}, "put", "e to be at most b")


def negative_sizes():
    """Sizes that are inputs."""
    bound = ["--bound", "y.0=9"]
    one = {"x": ((1,), [2.0], FLOAT)}
    cases = [
        ("Tile", "repeats", {"x": ([1], FLOAT), "s": ([1], INT64)}, one, [2.0]),
        ("Expand", "sizes", {"x": ([1], FLOAT), "s": ([1], INT64)}, one, [2.0]),
        ("ConstantOfShape", "sizes", {"s": ([1], INT64)}, {}, [0.0]),
    ]
    for kind, word, inputs, given, element in cases:
        plan = compiled(kind, [node(kind, list(inputs), ["y"])], inputs, flags=bound)
        for size in (0, 3):
            assert run(plan, {**given, "s": ((1,), [size], INT64)}) == [((size,), element * size)], (kind, size)
        for size in (-1, -2**62):
            run(plan, {**given, "s": ((1,), [size], INT64)}, kind, f"{word} that are not negative")
    plan = compiled("Reshape", [node("Reshape", ["x", "s"], ["y"])], {"x": ([1], FLOAT), "s": ([1], INT64)}, flags=bound)
    run(plan, {**one, "s": ((1,), [-2], INT64)}, "Reshape", "sizes of -1 or more")
    plan = compiled("OneHot", [node("OneHot", ["i", "s", "v"], ["y"])], {"i": ([], INT64), "s": ([], INT64)},
                    [tensor("v", [2], [0.0, 1.0])], bound)
    assert run(plan, {"i": ((), [1], INT64), "s": ((), [3], INT64)}) == [((3,), [0.0, 1.0, 0.0])]
    run(plan, {"i": ((), [1], INT64), "s": ((), [-1], INT64)}, "OneHot", "a depth that is not negative")


def ranges_without_end():
    """Of numbers that are inputs."""
    for kind, steps in ((FLOAT, (0.0, float("nan"), 1e-300)), (INT64, (0,))):
        plan = compiled(f"range-{kind}", [node("Range", ["a", "b", "c"], ["y"])],
                        {name: ([], kind) for name in "abc"}, flags=["--bound", "y.0=9"])
        for start, end, step, wanted in ((1, 4, 2, [1, 3]), (4, 1, -1, [4, 3, 2]), (1, 1, 1, []), (2, 1, 1, [])):
            given = {name: ((), [v], kind) for name, v in zip("abc", (start, end, step))}
            assert run(plan, given) == [((len(wanted),), wanted)], (kind, start, end, step)
        for step in steps:
            given = {name: ((), [v], kind) for name, v in zip("abc", (1, 4, step))}
            run(plan, given, "Range", "a delta that is not 0" if step == 0 or step == 1e-300 else "an end in reach")


def tests():
    for function in (shape_arithmetic_that_grows, mixed_arithmetic_that_grows, halves, thirds, negative_pads,
                     parts_of_a_sequence, indices_beside_the_axis, negative_sizes, ranges_without_end):
        yield function.__name__, function
