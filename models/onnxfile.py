"""Writes ONNX files: protobuf's wire format by hand, standard library only, so
that equal models are equal bytes whatever is installed.

    model([node("Relu", ["x"], ["y"])], [value("x", [1, "n"])], [value("y", [1, "n"])])

gives the bytes of a model. Field numbers are those of onnx.proto.
"""
import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 8, 9, 10, 11
UINT4, INT4 = 21, 22


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, data, kind=FLOAT):
    """`data`: bytes, or a list of floats or integers."""
    if not isinstance(data, bytes):
        code = {FLOAT: "f", INT64: "q", INT32: "i", DOUBLE: "d"}[kind]
        data = struct.pack(f"<{len(data)}{code}", *data)
    return (b"".join(integer(1, d) for d in dims) + integer(2, kind) + chunk(8, name) + chunk(9, data))


def external_tensor(name, dims, location, offset=None, length=None, kind=FLOAT):
    entries = [("location", location)]
    entries += [("offset", str(offset))] if offset is not None else []
    entries += [("length", str(length))] if length is not None else []
    return (b"".join(integer(1, d) for d in dims) + integer(2, kind) + chunk(8, name)
            + b"".join(chunk(13, chunk(1, k) + chunk(2, v)) for k, v in entries) + integer(14, 1))


class Graph(bytes):
    """A graph, as a model or an attribute holds it."""


def graph(nodes, inputs, outputs, initializers=(), name="test"):
    return Graph(b"".join(chunk(1, item) for item in nodes) + chunk(2, name)
                 + b"".join(chunk(5, item) for item in initializers)
                 + b"".join(chunk(11, item) for item in inputs) + b"".join(chunk(12, item) for item in outputs))


def attribute(name, value):
    head = chunk(1, name)
    if isinstance(value, Graph):
        return head + chunk(6, value) + integer(20, 5)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return head + integer(3, value) + integer(20, 2)
    if isinstance(value, str):
        return head + chunk(4, value) + integer(20, 3)
    if isinstance(value, bytes):
        return head + chunk(5, value) + integer(20, 4)
    if all(isinstance(item, int) for item in value):
        return head + b"".join(integer(8, item) for item in value) + integer(20, 7)
    if all(isinstance(item, bytes) for item in value):
        return head + b"".join(chunk(9, item) for item in value) + integer(20, 8)
    return head + b"".join(varint(7 << 3 | 5) + struct.pack("<f", item) for item in value) + integer(20, 6)


def node(kind, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(chunk(1, text) for text in inputs) + b"".join(chunk(2, text) for text in outputs)
            + chunk(3, name or f"{kind.lower()}_node") + chunk(4, kind)
            + b"".join(chunk(5, attribute(key, value)) for key, value in attributes.items())
            + (chunk(7, domain) if domain else b""))


def value(name, dims, kind=FLOAT):
    """Dimensions: numbers, or names of symbols."""
    shape = b"".join(chunk(1, integer(1, d) if isinstance(d, int) else chunk(2, d)) for d in dims)
    return chunk(1, name) + chunk(2, chunk(1, integer(1, kind) + chunk(2, shape)))


def model(nodes, inputs, outputs, initializers=(), opset=13, ir=8, domains=(), name="test",
          producer="stint-tests"):
    opsets = [("", opset), *domains]
    return (integer(1, ir) + chunk(2, producer) + chunk(7, graph(nodes, inputs, outputs, initializers, name=name))
            + b"".join(chunk(8, chunk(1, domain) + integer(2, version)) for domain, version in opsets))


def small_model():
    """y = relu(x * w + b), x [n, 8]: weights, a symbol, an epilogue."""
    weight = tensor("w", [8, 4], [((i * 7) % 11 - 5) / 8 for i in range(32)])
    bias = tensor("b", [4], [0.5, -0.25, 0.0, 1.0])
    return model([node("MatMul", ["x", "w"], ["xw"]), node("Add", ["xw", "b"], ["s"]),
                  node("Relu", ["s"], ["y"])],
                 [value("x", ["n", 8])], [value("y", ["n", 4])], [weight, bias])


def small_answer(x):
    """What small_model gives for rows of 8 numbers."""
    weight = [[((i * 4 + j) * 7 % 11 - 5) / 8 for j in range(4)] for i in range(8)]
    bias = [0.5, -0.25, 0.0, 1.0]
    return [[max(0.0, sum(row[i] * weight[i][j] for i in range(8)) + bias[j]) for j in range(4)]
            for row in x]
