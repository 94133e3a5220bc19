"""If and Loop: branches of different shapes, early ends, scans, captures, growth."""
import array
import itertools

import onnxfile as onnx
import support
from onnxfile import BOOL, INT64, graph, node, tensor, value

FOLDER = support.folder("control-flow")
CODES = {"f": "<f4", "q": "<i8", "B": "|b1"}


def npy(name, dims, code, values):
    path = FOLDER / name
    support.tensors.write_npy(path, dims, array.array(code, values), CODES[code])
    return path


def compiled(name, model, *flags):
    path = FOLDER / f"{name}.onnx"
    path.write_bytes(model)
    plan = FOLDER / f"{name}.stint"
    support.expect(support.compile_model(path, plan, "--target", support.BOTH, *flags), 0)
    return plan


def check(plan, inputs, wanted):
    """Inputs: name to (dims, code, values); wanted: name to (dims, values)."""
    given = [word for name, (dims, code, values) in inputs.items()
             for word in ("--input", f"{name}={npy(f'{plan.stem}-{name}.npy', dims, code, values)}")]
    for program in ([support.RUN], support.qemu()):
        outs = {name: FOLDER / f"{plan.stem}-{name}-out.npy" for name in wanted}
        support.expect(support.run([*program, plan, *given, *itertools.chain.from_iterable(
            ("--output", f"{name}={path}") for name, path in outs.items())]), 0)
        for name, (dims, values) in wanted.items():
            shape, got = support.tensors.read_npy(outs[name])
            assert tuple(shape) == tuple(dims), f"{name} is {shape}, expected {dims}"
            assert all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(got, values)), (name, got, values)


def branches():
    """c ? concat(x, x) : -x, whose first dimensions differ."""
    then = graph([node("Concat", ["x", "x"], ["t"], axis=0)], [], [value("t", ["a", 2])])
    other = graph([node("Neg", ["x"], ["e"])], [], [value("e", ["b", 2])])
    plan = compiled("branches", onnx.model(
        [node("If", ["c"], ["z"], then_branch=then, else_branch=other), node("Abs", ["z"], ["y"]),
         node("Shape", ["y"], ["s"])],
        [value("c", [], BOOL), value("x", ["n", 2])], [value("y", ["m", 2]), value("s", [2], INT64)]),
        "--dim", "n=1..3")
    for n in (1, 3):
        x = [float(i - 3) for i in range(2 * n)]
        size = [abs(v) for v in x]
        check(plan, {"c": ((), "B", [1]), "x": ((n, 2), "f", x)},
              {"y": ((2 * n, 2), size + size), "s": ((2,), [2 * n, 2])})
        check(plan, {"c": ((), "B", [0]), "x": ((n, 2), "f", x)}, {"y": ((n, 2), size), "s": ((2,), [n, 2])})


def counted_model():
    """a = a + w while max(a) < 3 and fewer than m times; every a + i is a scan."""
    body = graph([node("Add", ["a", "w"], ["next"]), node("ReduceMax", ["next"], ["most"], keepdims=0),
                  node("Less", ["most", "limit"], ["more"]), node("Cast", ["i"], ["f"], to=1),
                  node("Add", ["next", "f"], ["row"])],
                 [value("i", [], INT64), value("on", [], BOOL), value("a", [3])],
                 [value("more", [], BOOL), value("next", [3]), value("row", [3])])
    return onnx.model([node("Loop", ["m", "c", "x"], ["last", "rows"], body=body)],
                      [value("m", [], INT64), value("c", [], BOOL), value("x", [3])],
                      [value("last", [3]), value("rows", ["k", 3])],
                      [tensor("w", [3], [0.5, 0.25, 0.125]), tensor("limit", [], [3.0])])


def counted():
    plan = compiled("counted", counted_model(), "--bound", "rows.0=9")
    for m, go in ((4, 1), (0, 1), (4, 0), (9, 1)):
        a, rows = [1.0, 0.0, -1.0], []
        for i in range(m if go else 0):
            a = [x + w for x, w in zip(a, (0.5, 0.25, 0.125))]
            rows.append([x + i for x in a])
            if max(a) >= 3:
                break
        check(plan, {"m": ((), "q", [m]), "c": ((), "B", [go]), "x": ((3,), "f", [1.0, 0.0, -1.0])},
              {"last": ((3,), a), "rows": ((len(rows), 3), list(itertools.chain(*rows)))})


def counted_needs_bound():
    path = FOLDER / "unbounded.onnx"
    path.write_bytes(counted_model())
    support.expect(support.compile_model(path, FOLDER / "unbounded.stint"), 2, "--bound rows.0=N")
    support.expect(support.compile_model(path, FOLDER / "unbounded.stint", "--bound", "rows.0=9", "--bound",
                                         "nothing.0=4"), 2, "nothing.0")
    support.expect(support.compile_model(path, FOLDER / "unbounded.stint", "--bound", "rows=9"), 2, "VALUE.AXIS=N")


def over_bound():
    """More iterations than the bound end the run with a message."""
    plan = compiled("over", counted_model(), "--bound", "rows.0=2")
    given = ["--input", f"m={npy('over-m.npy', (), 'q', [4])}", "--input", f"c={npy('over-c.npy', (), 'B', [1])}",
             "--input", f"x={npy('over-x.npy', (3,), 'f', [0.0, 0.0, 0.0])}"]
    support.expect(support.run([support.RUN, plan, *given]), 1, "the loop may run 2 times", "--bound")


def grows():
    """A carried value that grows by two each time, beside two that swap."""
    body = graph([node("Concat", ["g", "p"], ["g2"], axis=0), node("Identity", ["q"], ["p2"]),
                  node("Identity", ["p"], ["q2"]), node("Identity", ["on"], ["more"])],
                 [value("i", [], INT64), value("on", [], BOOL), value("g", ["k"]), value("p", [2]), value("q", [2])],
                 [value("more", [], BOOL), value("g2", ["l"]), value("p2", [2]), value("q2", [2])])
    plan = compiled("grows", onnx.model(
        [node("Loop", ["m", "", "x", "p0", "q0"], ["g1", "p1", "q1"], body=body)],
        [value("m", [], INT64), value("x", [1]), value("p0", [2]), value("q0", [2])],
        [value("g1", ["z"]), value("p1", [2]), value("q1", [2])]), "--bound", "g1.0=20")
    for m in (0, 1, 5):
        g, p, q = [7.0], [1.0, 2.0], [3.0, 4.0]
        for _ in range(m):
            g, p, q = g + p, q, p
        check(plan, {"m": ((), "q", [m]), "x": ((1,), "f", [7.0]), "p0": ((2,), "f", [1.0, 2.0]),
                     "q0": ((2,), "f", [3.0, 4.0])},
              {"g1": ((len(g),), g), "p1": ((2,), p), "q1": ((2,), q)})


def nested():
    """A loop in a loop, an If that captures from two levels out."""
    then = graph([node("Add", ["a", "x"], ["t"])], [], [value("t", ["n"])])
    other = graph([node("Sub", ["a", "k"], ["e"])], [], [value("e", ["n"])])
    inner = graph([node("Mul", ["u", "k"], ["v"]), node("Add", ["v", "b"], ["w"]), node("Identity", ["jc"], ["jo"])],
                  [value("j", [], INT64), value("jc", [], BOOL), value("u", ["n"])],
                  [value("jo", [], BOOL), value("w", ["n"])])
    body = graph([node("Mod", ["i", "two"], ["odd"]), node("Cast", ["odd"], ["isodd"], to=BOOL),
                  node("If", ["isodd"], ["b"], then_branch=then, else_branch=other),
                  node("Loop", ["three", "", "b"], ["d"], body=inner), node("Identity", ["on"], ["more"])],
                 [value("i", [], INT64), value("on", [], BOOL), value("a", ["n"])],
                 [value("more", [], BOOL), value("d", ["n"]), value("b", ["n"])])
    plan = compiled("nested", onnx.model(
        [node("Mul", ["x", "half"], ["k"]), node("Loop", ["four", "", "x"], ["last", "rows"], body=body)],
        [value("x", ["n"])], [value("last", ["n"]), value("rows", [4, "n"])],
        [tensor("two", [], [2], INT64), tensor("three", [], [3], INT64), tensor("four", [], [4], INT64),
         tensor("half", [], [0.5])]), "--dim", "n=1..5")
    for n in (2, 5):
        x = [0.3 * i - 0.5 for i in range(n)]
        k, a, rows = [0.5 * v for v in x], list(x), []
        for i in range(4):
            b = [p + q for p, q in zip(a, x)] if i % 2 else [p - q for p, q in zip(a, k)]
            rows += b
            a = list(b)
            for _ in range(3):
                a = [u * w + v for u, w, v in zip(a, k, b)]
        check(plan, {"x": ((n,), "f", x)}, {"last": ((n,), a), "rows": ((4, n), rows)})


def wrong_branch():
    """A branch that these shapes don't allow is an error only where it is taken."""
    then = graph([node("Reshape", ["x", "two"], ["t"])], [], [value("t", [2])])
    other = graph([node("Reshape", ["x", "three"], ["e"])], [], [value("e", [3])])
    plan = compiled("wrong-branch", onnx.model(
        [node("If", ["c"], ["y"], name="pick", then_branch=then, else_branch=other)],
        [value("c", [], BOOL), value("x", [1, 3])], [value("y", ["k"])],
        [tensor("two", [1], [2], INT64), tensor("three", [1], [3], INT64)]))
    check(plan, {"c": ((), "B", [0]), "x": ((1, 3), "f", [1.0, 2.0, 3.0])}, {"y": ((3,), [1.0, 2.0, 3.0])})
    given = ["--input", f"c={npy('wrong-c.npy', (), 'B', [1])}",
             "--input", f"x={npy('wrong-x.npy', (1, 3), 'f', [1.0, 2.0, 3.0])}"]
    support.expect(support.run([support.RUN, plan, *given]), 1, "pick", "then branch")


def state():
    """s' = s + x, y = s' * 2: the session adds up by itself."""
    model = onnx.model([node("Add", ["s", "x"], ["next"]), node("Add", ["next", "next"], ["y"])],
                       [value("x", [1, 3]), value("s", ["b", 3])], [value("y", [1, 3]), value("next", [1, 3])])
    plan = compiled("state", model, "--dim", "b=1", "--state", "s=next")
    # One process, several runs: the benchmark's runs are runs too.
    x = npy("state-x.npy", (1, 3), "f", [1.0, 2.0, -1.0])
    for program in ([support.RUN], support.qemu()):
        out = FOLDER / "state-y.npy"
        support.expect(support.run([*program, plan, "--input", f"x={x}", "--output", f"y={out}"]), 0)
        assert list(support.tensors.read_npy(out)[1]) == [2.0, 4.0, -2.0]
        info = support.expect(support.run([*program, plan, "--info"]), 0)
        assert "'s'" not in info.text, "a state is no input"
    path = FOLDER / "state.onnx"
    for flags, words in ((["--state", "s=next"], ["--dim b"]), (["--dim", "b=1..2", "--state", "s=next"], ["fixed"]),
                         (["--dim", "b=1", "--state", "s=z"], ["no output 'z'"]),
                         (["--dim", "b=1", "--state", "q=next"], ["no input 'q'"]),
                         (["--dim", "b=1", "--state", "s"], ["IN=OUT"])):
        support.expect(support.compile_model(path, FOLDER / "no.stint", *flags), 2, *words)


def nest(depth, kinds, constant=0):
    """y = x + 1 for each loop of one, and x where a condition is false, `depth` deep; around it all `constant` Ifs
    whose condition is known."""
    number = itertools.count()

    def inside(level, name):
        mine = f"v{next(number)}"
        if level == 0:
            return [node("Add", [name, "one"], [mine])], mine
        nodes, result = inside(level - 1, name if level > depth or kinds[level % len(kinds)] == "If" else f"{mine}a")
        if level > depth or kinds[level % len(kinds)] == "If":
            same = f"{mine}e"
            branches = {"then_branch": graph(nodes, [], [value(result, [2])]),
                        "else_branch": graph([node("Identity", [name], [same])], [], [value(same, [2])])}
            return [node("If", ["always" if level > depth else "c"], [mine], name=f"level{level}", **branches)], mine
        go, on = f"{mine}g", f"{mine}o"
        body = graph([*nodes, node("Identity", [on], [go])],
                     [value(f"{mine}i", [], INT64), value(on, [], BOOL), value(f"{mine}a", [2])],
                     [value(go, [], BOOL), value(result, [2])])
        return [node("Loop", ["trips", "", name], [mine], name=f"level{level}", body=body)], mine
    nodes, result = inside(depth + constant, "x")
    return onnx.model([*nodes, node("Identity", [result], ["y"])],
                      [value("x", [2]), value("c", [], BOOL), value("trips", [], INT64)], [value("y", [2])],
                      [tensor("one", [1], [1.0]), tensor("always", [], b"\1", BOOL)])


def deep():
    """As deep as a plan nests, and one more."""
    for kinds in (["If"], ["Loop"], ["If", "Loop"]):
        name = "deep-" + "-".join(kinds)
        plan = compiled(name, nest(32, kinds, constant=8))
        given = {"x": ((2,), "f", [1.0, 2.0]), "c": ((), "B", [1]), "trips": ((), "q", [1])}
        check(plan, given, {"y": ((2,), [2.0, 3.0])})
        given["c"] = ((), "B", [0])
        check(plan, given, {"y": ((2,), [2.0, 3.0] if kinds == ["Loop"] else [1.0, 2.0])})
        path = FOLDER / f"{name}.onnx"
        path.write_bytes(nest(33, kinds))
        support.expect(support.compile_model(path, FOLDER / "no.stint"), 3, "level1", "33 deep", "32 is the most")


def tests():
    for function in (branches, counted, counted_needs_bound, over_bound, grows, nested, wrong_branch, deep, state):
        yield function.__name__, function
