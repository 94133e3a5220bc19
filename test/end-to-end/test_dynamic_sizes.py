"""Dynamic sizes that must fit together: multiples of a number, and dimensions
that the model takes to be equal, and those that are computed while it runs."""
import onnxfile as onnx
import support

FOLDER = support.folder("dynamic-sizes")


def skip_model():
    """y = x + up(half(x)), as in feature pyramids: fits for even sizes."""
    return onnx.model(
        [onnx.node("MaxPool", ["x"], ["half"], kernel_shape=[3], strides=[2], pads=[1, 1]),
         onnx.node("Resize", ["half", "", "scales"], ["up"], mode="nearest",
                   coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
         onnx.node("Add", ["x", "up"], ["y"], name="join")],
        [onnx.value("x", [1, 1, "h"])], [onnx.value("y", [1, 1, "h"])],
        [onnx.tensor("scales", [3], onnx.struct.pack("<3f", 1, 1, 2))])


def answer(x):
    half = [max(x[max(2 * i - 1, 0):2 * i + 2]) for i in range((len(x) + 1) // 2)]
    return [v + half[i // 2] for i, v in enumerate(x)]


def compiled(name, model, *dims):
    path, plan = FOLDER / f"{name}.onnx", FOLDER / f"{name}.stint"
    path.write_bytes(model)
    flags = [word for dim in dims for word in ("--dim", dim)]
    support.expect(support.compile_model(path, plan, "--target", "host", *flags), 0)
    return plan


def array(name, values, *outer):
    path = FOLDER / f"{name}.npy"
    support.tensors.write_npy(path, (*outer, len(values)), support.tensors.array.array("f", values), "<f4")
    return path


def run_skip(plan, size):
    x = [float(i * 7 % 11 - 5) for i in range(size)]
    out = FOLDER / "out.npy"
    done = support.run([support.RUN, plan, "--input", array("x", x, 1, 1), "--output", out])
    if done.returncode == 0:
        shape, values = support.tensors.read_npy(out)
        assert tuple(shape) == (1, 1, size) and list(values) == answer(x), (shape, list(values), answer(x))
    return done


def multiples():
    plan = compiled("multiples", skip_model(), "h=4..24:4")
    for size in (4, 8, 24):
        support.expect(run_skip(plan, size), 0)
    support.expect(run_skip(plan, 6), 1, "h must be a multiple of 4")
    support.expect(run_skip(plan, 28), 1, "h")


def checked():
    plan = compiled("checked", skip_model(), "h=1..25")
    for size in (2, 14, 24):
        support.expect(run_skip(plan, size), 0)
    for size in (1, 7, 25):
        support.expect(run_skip(plan, size), 1, "join", "needs", "to equal", "h")


def joint():
    plan = compiled("joint", onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                        [onnx.value("a", ["n"]), onnx.value("b", ["m"])], [onnx.value("y", ["n"])]),
                    "n=1..8", "m=1..8")
    for n, m, code in ((3, 3, 0), (8, 8, 0), (3, 4, 1)):
        done = support.run([support.RUN, plan, "--input", f"a={array('a', [1.0] * n)}",
                            "--input", f"b={array('b', [2.0] * m)}"])
        support.expect(done, code, *(["needs m to equal n"] if code else []))


def integers(name, values):
    path = FOLDER / f"{name}.npy"
    support.tensors.write_npy(path, (len(values),), support.tensors.array.array("q", values), "<i8")
    return path


def constant(name, values):
    return onnx.tensor(name, [len(values)], onnx.struct.pack(f"<{len(values)}q", *values), kind=onnx.INT64)


def first_output(plan, *inputs):
    out = FOLDER / "out.npy"
    flags = [word for flag in inputs for word in ("--input", flag)]
    done = support.run([support.RUN, plan, *flags, "--output", f"y={out}"])
    if done.returncode:
        return done, None
    shape, values = support.tensors.read_npy(out)
    return done, (tuple(shape), list(values))


def slices():
    """Ends that may lie beyond the dimension: as Python clamps them."""
    least, most = -2**63, 2**63 - 1
    for number, (start, end, step) in enumerate([(0, 5, 1), (-3, most, 1), (0, 6, 2), (5, least, -1), (1, -1, 1),
                                                 (-1, least, -2), (2, 1, 1)]):
        plan = compiled(f"slice-{number}", onnx.model(
            [onnx.node("Slice", ["x", "s", "e", "a", "t"], ["y"])], [onnx.value("x", ["n"])],
            [onnx.value("y", ["m"])],
            [constant("s", [start]), constant("e", [end]), constant("a", [0]), constant("t", [step])]), "n=0..8")
        for size in (0, 1, 4, 8):
            x = [float(i + 1) for i in range(size)]
            done, got = first_output(plan, f"x={array('x', x)}")
            support.expect(done, 0)
            want = x[start:None if end == least else end:step]
            assert got == ((len(want),), want), (start, end, step, got, want)


def slices_of_inputs():
    plan = compiled("slice-inputs", onnx.model(
        [onnx.node("Slice", ["x", "s", "e"], ["y"])],
        [onnx.value("x", ["n"]), onnx.value("s", [1], onnx.INT64), onnx.value("e", [1], onnx.INT64)],
        [onnx.value("y", ["m"])]), "n=0..8")
    x = [float(i + 1) for i in range(7)]
    for start, end in ((0, 3), (-2, 100), (4, 2), (-100, -1), (6, 2**63 - 1)):
        done, got = first_output(plan, f"x={array('x', x)}", f"s={integers('s', [start])}",
                                 f"e={integers('e', [end])}")
        support.expect(done, 0)
        assert got == ((len(x[start:end]),), x[start:end]), (start, end, got)


def with_shape(kind, x_dims, count, bounds, **attributes):
    """A model whose second input is what the operator makes a shape of."""
    inputs = [onnx.value("x", x_dims)] if x_dims else []
    model = onnx.model([onnx.node(kind, ["x", "s"] if x_dims else ["s"], ["y"], **attributes)],
                       [*inputs, onnx.value("s", [count], onnx.INT64)], [onnx.value("y", ["a", "b"])])
    path, plan = FOLDER / f"{kind}.onnx", FOLDER / f"{kind}.stint"
    path.write_bytes(model)
    support.expect(support.compile_model(path, plan, "--target", "host"), 2, "--bound y.0=")
    flags = [word for axis, bound in enumerate(bounds) for word in ("--bound", f"y.{axis}={bound}")]
    support.expect(support.compile_model(path, plan, "--target", "host", *flags), 0)
    return plan


def shapes_of_inputs():
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    cases = [
        (with_shape("Reshape", [6], 2, (6, 6)), x, [([2, 3], (2, 3), x), ([-1, 2], (3, 2), x), ([4, 2], None, "needs")]),
        (with_shape("Expand", [1], 2, (4, 3)), x[:1], [([4, 3], (4, 3), x[:1] * 12), ([0, 2], (0, 2), [])]),
        (with_shape("Tile", [1, 3], 2, (4, 9)), x[:3], [([2, 2], (2, 6), x[:3] * 4), ([5, 1], None, "y.0")]),
        (with_shape("Pad", [1, 2], 4, (4, 4)), x[:2],
         [([1, 1, 0, 1], (2, 4), [0.0] * 5 + [1.0, 2.0, 0.0]), ([0, -1, 0, 0], None, "negative")]),
        (with_shape("ConstantOfShape", [], 2, (4, 4)), None, [([2, 1], (2, 1), [0.0, 0.0]), ([5, 1], None, "y.0")]),
    ]
    for plan, data, runs in cases:
        for shape, want_shape, want in runs:
            outer = (1,) if plan.stem in ("Tile", "Pad") else ()
            inputs = [f"x={array('x', data, *outer)}"] if data else []
            done, got = first_output(plan, *inputs, f"s={integers('s', shape)}")
            support.expect(done, 0 if want_shape else 1, *([] if want_shape else [want]))
            assert not want_shape or got == (want_shape, want), (plan, shape, got)


def tests():
    yield "multiples", multiples
    yield "checked", checked
    yield "joint", joint
    yield "slices", slices
    yield "slices_of_inputs", slices_of_inputs
    yield "shapes_of_inputs", shapes_of_inputs
