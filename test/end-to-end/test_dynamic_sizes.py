"""Dynamic sizes that must fit together: multiples of a number, and dimensions
that the model takes to be equal."""
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


def tests():
    yield "multiples", multiples
    yield "checked", checked
    yield "joint", joint
