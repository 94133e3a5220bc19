"""Operators at the edges of their shapes, on small models with known answers."""
import onnxfile as onnx
import support

FOLDER = support.folder("operators")


def exclusive_sum_of_one():
    """CumSum without the element itself, over an axis of one: nothing is summed."""
    path, plan, out = FOLDER / "sum.onnx", FOLDER / "sum.stint", FOLDER / "out.npy"
    path.write_bytes(onnx.model([onnx.node("CumSum", ["x", "axis"], ["y"], exclusive=1)],
                                [onnx.value("x", [3, 1])], [onnx.value("y", [3, 1])],
                                [onnx.tensor("axis", [1], onnx.struct.pack("<q", 1), onnx.INT64)]))
    support.expect(support.compile_model(path, plan, "--target", "host"), 0)
    given = FOLDER / "x.npy"
    support.tensors.write_npy(given, (3, 1), support.tensors.array.array("f", [1, 2, 3]), "<f4")
    support.expect(support.run([support.RUN, plan, "--input", given, "--output", out]), 0)
    assert list(support.tensors.read_npy(out)[1]) == [0, 0, 0]


def tests():
    yield "exclusive-sum-of-one", exclusive_sum_of_one
