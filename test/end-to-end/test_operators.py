"""Operators at the edges of their shapes and attributes, on small models with known answers (ONNX Runtime's)."""
import math

import onnxfile as onnx
import support
from onnxfile import FLOAT, INT64, INT8

FOLDER = support.folder("operators")
CODES = {FLOAT: ("f", "<f4"), INT64: ("q", "<i8"), INT8: ("b", "|i1")}


def integers(name, values, dims=None):
    return onnx.tensor(name, dims if dims is not None else [len(values)], values, INT64)


def floats(name, values, dims=None):
    return onnx.tensor(name, dims if dims is not None else [len(values)], [float(v) for v in values])


def build(name, nodes, inputs, initializers=(), flags=(), opset=13):
    """`inputs`: {name: (declared dimensions, type)}. The outcome of compiling a model with the one output y."""
    model, plan = FOLDER / f"{name}.onnx", FOLDER / f"{name}.stint"
    plan.unlink(missing_ok=True)
    model.write_bytes(onnx.model(nodes, [onnx.value(key, dims, kind) for key, (dims, kind) in inputs.items()],
                                 [onnx.chunk(1, "y")], initializers, opset=opset))
    return plan, support.compile_model(model, plan, "--target", "host", "--cpu", "v3", *flags)


def run(plan, inputs, code=0, words=()):
    """`inputs`: {name: (dimensions, values, type)}. Shape and values of y."""
    flags, out = [], FOLDER / "y.npy"
    out.unlink(missing_ok=True)
    for name, (dims, values, kind) in inputs.items():
        path = FOLDER / f"{name}.npy"
        letter, dtype = CODES[kind]
        support.tensors.write_npy(path, tuple(dims), support.tensors.array.array(letter, values), dtype)
        flags += ["--input", f"{name}={path}"]
    support.expect(support.run([support.RUN, plan, *flags, "--output", f"y={out}"]), code, *words)
    return support.tensors.read_npy(out) if code == 0 else None


def check(got, shape, values, about=""):
    assert tuple(got[0]) == tuple(shape), f"{about}shape {got[0]}, expected {shape}"
    for i, (a, b) in enumerate(zip(got[1], values, strict=True)):
        assert abs(a - b) <= 1e-4 * max(1, abs(b)), f"{about}element {i} is {a}, expected {b}"


def exclusive_sum_of_one():
    """CumSum without the element itself, over an axis of one: nothing is summed."""
    plan, done = build("sum", [onnx.node("CumSum", ["x", "axis"], ["y"], exclusive=1)], {"x": ([3, 1], FLOAT)},
                       [integers("axis", [1], [])])
    support.expect(done, 0)
    check(run(plan, {"x": ((3, 1), [1, 2, 3], FLOAT)}), (3, 1), [0, 0, 0])


# scales or sizes of the last dimension, attributes, region of interest, what [1, -2, 3.5, .25, -1, 4] becomes
RESIZES = (
    ("scales", 0.7, {"mode": "linear"}, None, [.35714, 1.5357, .16071, 1.5]),
    ("scales", 0.7, {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, None,
     [.35714, 1.5357, .16071, 1.5]),
    ("scales", 0.7, {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, None,
     [1, .35714, .71429, .42857]),
    ("scales", 0.7, {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"}, None,
     [-.071428, 2.3214, -.017857, 2.2143]),
    ("scales", 1.7, {"mode": "nearest", "nearest_mode": "ceil"}, None, [1, -2, -2, 3.5, .25, .25, -1, -1, 4, 4]),
    # 1.5 / 0.6 - 0.5 is 2 in f32, and less with the scale's f64.
    ("scales", 0.6, {"mode": "nearest", "nearest_mode": "floor",
                     "coordinate_transformation_mode": "pytorch_half_pixel"}, None, [1, 3.5, .25]),
    ("sizes", 4, {"mode": "nearest", "nearest_mode": "round_prefer_ceil",
                  "coordinate_transformation_mode": "asymmetric"}, None, [1, 3.5, .25, 4]),
    ("sizes", 1, {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, None, [1]),
    ("sizes", 4, {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, None,
     [1, 1.6667, -.16667, 4]),
    ("sizes", 3, {"mode": "linear", "antialias": 1}, None, [.1875, 1.0312, 1.6562]),
    ("scales", 0.4, {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5}, None, [.39115, .75335]),
    ("scales", 1.5, {"mode": "cubic", "exclude_outside": 1}, None,
     [1.3041, -.84286, -1.4146, 2.9407, 2.5078, -.29832, -1.3111, 1.6071, 4.5068]),
    ("scales", 1.5, {"mode": "cubic", "cubic_coeff_a": -0.5}, None,
     [1.1736, -.84375, -1.474, 2.9913, 2.2969, -.14641, -1.1765, 1.4219, 4.2894]),
    ("sizes", 5, {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                  "extrapolation_value": 9.0}, (.2, 1.3), [-2, 2.2812, -.6875, 9, 9]),
)


def resizes(declared, flags):
    """All rows in one model: fixed dimensions, then dynamic ones."""
    nodes, parameters = [], []
    for i, (key, value, attributes, roi, _) in enumerate(RESIZES):
        parameters.append((floats if key == "scales" else integers)(f"p{i}", [1, 1, value]))
        if roi:
            parameters.append(floats(f"roi{i}", [0, 0, roi[0], 1, 1, roi[1]]))
        operands = ["x", f"roi{i}" if roi else ""]
        nodes.append(onnx.node("Resize", operands + ([f"p{i}"] if key == "scales" else ["", f"p{i}"]), [f"y{i}"],
                               f"row{i}", **attributes))
    nodes.append(onnx.node("Concat", [f"y{i}" for i in range(len(RESIZES))], ["y"], axis=2))
    plan, done = build("resize", nodes, {"x": (declared, FLOAT)}, parameters, flags, opset=19)
    support.expect(done, 0)
    got = run(plan, {"x": ((1, 1, 6), [1, -2, 3.5, .25, -1, 4], FLOAT)})
    at = 0
    for key, value, attributes, _, wanted in RESIZES:
        check(((len(wanted),), got[1][at:at + len(wanted)]), (len(wanted),), wanted, f"{key} {value} {attributes}: ")
        at += len(wanted)
    assert tuple(got[0]) == (1, 1, at)


def resize_keeps_ratio():
    """One scale for both axes, sizes that depend on the input's."""
    for policy, shape in (("not_larger", (3, 6)), ("not_smaller", (4, 8))):
        plan, done = build("ratio", [onnx.node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest",
                                               keep_aspect_ratio_policy=policy)],
                           {"x": (["h", "w"], FLOAT)}, [integers("sizes", [4, 6])],
                           ("--dim", "h=1..3", "--dim", "w=1..9"), 18)
        support.expect(done, 0)
        assert tuple(run(plan, {"x": ((2, 4), range(8), FLOAT)})[0]) == shape


def slices():
    """The largest integers mean the end in the direction of the step."""
    for end, step, wanted in ((2**63 - 1, -1, [3, 2, 1, 0]), (2**31 - 1, -2, [3, 1]), (-2**63, -1, [3, 2, 1, 0]),
                              (2**63 - 1, 2, [3]), (-2**63, 1, [])):
        plan, done = build("slice", [onnx.node("Slice", ["x", "start", "end", "axis", "step"], ["y"])],
                           {"x": ([4], FLOAT)},
                           [integers("start", [3]), integers("end", [end]), integers("axis", [0]),
                            integers("step", [step])])
        support.expect(done, 0)
        check(run(plan, {"x": ((4,), [0, 1, 2, 3], FLOAT)}), (len(wanted),), wanted, f"{end} by {step}: ")


def one_hot_of_computed_depth():
    plan, done = build("hot", [onnx.node("OneHot", ["x", "depth", "values"], ["y"], axis=0)],
                       {"x": ([3], INT64), "depth": ([], INT64)}, [floats("values", [0, 5])], ("--bound", "y.0=4"))
    support.expect(done, 0)
    x = ((3,), [1, -1, 7], INT64)
    check(run(plan, {"x": x, "depth": ((), [3], INT64)}), (3, 3), [0, 0, 0, 5, 0, 0, 0, 5, 0])
    run(plan, {"x": x, "depth": ((), [5], INT64)}, 1, ("y.0",))


def wraps_twice():
    plan, done = build("wrap", [onnx.node("Pad", ["x", "pads"], ["y"], mode="wrap")], {"x": ([3], FLOAT)},
                       [integers("pads", [5, -1])], opset=19)
    support.expect(done, 0)
    check(run(plan, {"x": ((3,), [1, 2, 3], FLOAT)}), (7,), [2, 1, 2, 1, 2, 1, 2])


def blocks_of_scales():
    """Blocks along an axis, the last one short."""
    plan, done = build("blocks", [onnx.node("DequantizeLinear", ["x", "scale", "zero"], ["y"], axis=1, block_size=2)],
                       {"x": ([1, 5], INT8)},
                       [floats("scale", [1, .5, 2], [1, 3]), onnx.tensor("zero", [1, 3], bytes([0, 1, 2]), INT8)],
                       opset=21)
    support.expect(done, 0)
    check(run(plan, {"x": ((1, 5), [3, -4, 5, -6, 7], INT8)}), (1, 5), [3, -4, 2, -3.5, 10])


def channels_that_vary():
    """A convolution of an input that says nothing of its channels: checked while it runs."""
    plan, done = build("channels", [onnx.node("Conv", ["x", "w"], ["y"])], {"x": (["n", "c", "l"], FLOAT)},
                       [floats("w", [1, 10], [1, 2, 1])], ("--dim", "n=1..2", "--dim", "c=1..4", "--dim", "l=1..3"))
    support.expect(done, 0)
    check(run(plan, {"x": ((1, 2, 3), [1, 2, 3, 4, 5, 6], FLOAT)}), (1, 1, 3), [41, 52, 63])
    run(plan, {"x": ((1, 3, 1), [1, 2, 3], FLOAT)}, 1, ("conv_node", "c"))


def blocks_into_a_picture():
    """Col2Im: overlapping blocks add up, and the image ends where no block reaches."""
    plan, done = build("col2im", [onnx.node("Col2Im", ["x", "image", "block"], ["y"], strides=[2])],
                       {"x": ([1, 3, 2], FLOAT)}, [integers("image", [6]), integers("block", [3])], opset=18)
    support.expect(done, 0)
    check(run(plan, {"x": ((1, 3, 2), [1, 2, 3, 4, 5, 6], FLOAT)}), (1, 1, 6), [1, 3, 7, 4, 6, 0])


def cropped_and_padded():
    plan, done = build("crop", [onnx.node("CenterCropPad", ["x", "shape"], ["y"], axes=[1, -2])],
                       {"x": ([1, 4], FLOAT)}, [integers("shape", [1, 4])], opset=18)
    support.expect(done, 0)
    check(run(plan, {"x": ((1, 4), [1, 2, 3, 4], FLOAT)}), (4, 1), [0, 2, 0, 0])


def grid_of_a_transform():
    for corners, across in ((0, [-2 / 3, 0, 2 / 3]), (1, [-1, 0, 1])):
        plan, done = build("grid", [onnx.node("AffineGrid", ["x", "size"], ["y"], align_corners=corners)],
                           {"x": (["n", 2, 3], FLOAT)}, [integers("size", [1, 1, 2, 3])], ("--dim", "n=1..2"), 20)
        support.expect(done, 0)
        down = [-1, 1] if corners else [-.5, .5]
        wanted = [v for y in down for x in across for v in (2 * x + 3 * y + 1, y - 1)]
        check(run(plan, {"x": ((1, 2, 3), [2, 3, 1, 0, 1, -1], FLOAT)}), (1, 2, 3, 2), wanted)


def activations_take_numbers_in_turn():
    """A function that has an alpha or a beta takes the next of its list, one that hasn't takes none; the rest of the
    functions have ONNX's defaults."""
    nodes = [onnx.node("RNN", ["x", "w", "r"], ["", "y"], hidden_size=1, direction="bidirectional",
                       activations=[b"Tanh", b"Affine"], activation_alpha=[.5], activation_beta=[.25])]
    plan, done = build("rnn-alpha", nodes, {"x": ([1, 1, 1], FLOAT)},
                       [floats("w", [2, 2], [2, 1, 1]), floats("r", [1, 1], [2, 1, 1])])
    support.expect(done, 0)
    check(run(plan, {"x": ((1, 1, 1), [.3], FLOAT)}), (2, 1, 1), [math.tanh(.6), .5 * .6 + .25])

    def sigmoid(v):
        return 1 / (1 + math.exp(-v))

    # z, r: Sigmoid, h: LeakyRelu; the other direction's LeakyRelu has the default 0.01.
    nodes = [onnx.node("GRU", ["x", "w", "r"], ["", "y"], hidden_size=1, direction="bidirectional",
                       activations=[b"Sigmoid", b"LeakyRelu"] * 2, activation_alpha=[.3])]
    plan, done = build("gru-alpha", nodes, {"x": ([1, 1, 1], FLOAT)},
                       [floats("w", [1, 1, -2, 1, 1, -2], [2, 3, 1]), floats("r", [0] * 6, [2, 3, 1])])
    support.expect(done, 0)
    keep = 1 - sigmoid(.5)
    check(run(plan, {"x": ((1, 1, 1), [.5], FLOAT)}), (2, 1, 1), [keep * -.3, keep * -.01])
    # i, o, f: HardSigmoid with alpha and beta; g: Elu with alpha alone; h: ScaledTanh takes what is left.
    nodes = [onnx.node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=1,
                       activations=[b"HardSigmoid", b"Elu", b"ScaledTanh"], activation_alpha=[.3, .7, 1.5],
                       activation_beta=[.4])]
    plan, done = build("lstm-alpha", nodes, {"x": ([1, 1, 1], FLOAT)},
                       [floats("w", [1, 1, 1, -2], [1, 4, 1]), floats("r", [0] * 4, [1, 4, 1])])
    support.expect(done, 0)
    gate, cell = .3 * .5 + .4, .7 * (math.exp(-1) - 1)
    check(run(plan, {"x": ((1, 1, 1), [.5], FLOAT)}), (1, 1, 1), [gate * 1.5 * math.tanh(gate * cell)])


def tests():
    yield "activations-take-numbers-in-turn", activations_take_numbers_in_turn
    yield "exclusive-sum-of-one", exclusive_sum_of_one
    yield "resize", lambda: resizes([1, 1, 6], ())
    yield "resize-of-dynamic-sizes", lambda: resizes([1, "c", "w"], ("--dim", "c=1..2", "--dim", "w=2..9"))
    yield "resize-keeps-ratio", resize_keeps_ratio
    yield "slice", slices
    yield "one-hot-of-computed-depth", one_hot_of_computed_depth
    yield "pad-wraps-twice", wraps_twice
    yield "blocks-of-scales", blocks_of_scales
    yield "channels-that-vary", channels_that_vary
    yield "blocks-into-a-picture", blocks_into_a_picture
    yield "cropped-and-padded", cropped_and_padded
    yield "grid-of-a-transform", grid_of_a_transform
