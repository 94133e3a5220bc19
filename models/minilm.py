"""Builds all-MiniLM-L6-v2 as an ONNX model from its safetensors file.

The graph is what exporters of PyTorch models write (opset 14): shapes worked out
with Shape, Gather and Concat, LayerNorm and GELU spelled out, linear layers as
MatMul and Add with transposed weights, the mask as a large negative bias. Mean
pooling and normalisation, as sentence-transformers do them, follow the encoder.

    inputs   input_ids, attention_mask, token_type_ids   i64 [batch, sequence]
    outputs  last_hidden_state                           f32 [batch, sequence, 384]
             sentence_embedding                          f32 [batch, 384]

Standard library only: equal safetensors give equal bytes.
"""
import array
import json
import math
import struct
import sys

import onnxfile as onnx

LAYERS, HEADS, WIDTH, POSITIONS = 6, 12, 384, 512
EPSILON = 1e-12
LOWEST = -3.4028234663852886e38


class Graph:
    """Collects nodes and initializers; each method returns the name of its result."""

    def __init__(self, weights):
        self.weights, self.nodes, self.initializers, self.known = weights, [], [], {}

    def node(self, scope, kind, *inputs, **attributes):
        name = f"{scope}/{kind}"
        count = self.known[name] = self.known.get(name, -1) + 1
        name += f"_{count}" if count else ""
        self.nodes.append(onnx.node(kind, inputs, [name + "_output"], name, **attributes))
        return name + "_output"

    def constant(self, dims, values, kind):
        key = (tuple(dims), tuple(values), kind)
        if key not in self.known:
            self.known[key] = f"constant_{len(self.initializers)}"
            self.initializers.append(onnx.tensor(self.known[key], dims, values, kind))
        return self.known[key]

    def numbers(self, *values):
        return self.constant([len(values)], values, onnx.INT64)

    def index(self, value):
        return self.constant([], [value], onnx.INT64)

    def real(self, value):
        return self.constant([], [value], onnx.FLOAT)

    def weight(self, name, transposed=False):
        if name not in self.known:
            kind, dims, data = self.weights[name]
            if transposed:
                values = array.array("f", data)
                rows, columns = dims
                data = b"".join(values[c::columns].tobytes() for c in range(columns))
                dims = [columns, rows]
            self.initializers.append(onnx.tensor(name, dims, data, kind))
            self.known[name] = name
        return name

    def linear(self, scope, x, name):
        product = self.node(scope, "MatMul", x, self.weight(f"{name}.weight", transposed=True))
        return self.node(scope, "Add", self.weight(f"{name}.bias"), product)

    def layer_norm(self, scope, x, name):
        mean = self.node(scope, "ReduceMean", x, axes=[-1])
        centred = self.node(scope, "Sub", x, mean)
        square = self.node(scope, "Pow", centred, self.real(2.0))
        variance = self.node(scope, "ReduceMean", square, axes=[-1])
        deviation = self.node(scope, "Sqrt", self.node(scope, "Add", variance, self.real(EPSILON)))
        normal = self.node(scope, "Div", centred, deviation)
        scaled = self.node(scope, "Mul", normal, self.weight(f"{name}.weight"))
        return self.node(scope, "Add", scaled, self.weight(f"{name}.bias"))

    def dimension(self, scope, x, axis):
        shape = self.node(scope, "Shape", x)
        return self.node(scope, "Gather", shape, self.index(axis), axis=0)

    def extent(self, scope, x, axis):
        return self.node(scope, "Unsqueeze", self.dimension(scope, x, axis), self.numbers(0))

    def heads(self, scope, x):
        """[batch, sequence, 384] -> [batch, sequence, 12, 32]"""
        shape = self.node(scope, "Concat", self.extent(scope, x, 0), self.extent(scope, x, 1),
                          self.numbers(HEADS), self.numbers(WIDTH // HEADS), axis=0)
        return self.node(scope, "Reshape", x, shape)


def embeddings(graph):
    scope = "/embeddings"
    length = graph.extent(scope, "input_ids", 1)
    positions = graph.node(scope, "Slice", graph.weight("embeddings.position_ids"), graph.numbers(0), length,
                           graph.numbers(1), graph.numbers(1))
    words = graph.node(scope, "Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    types = graph.node(scope, "Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    places = graph.node(scope, "Gather", graph.weight("embeddings.position_embeddings.weight"), positions)
    total = graph.node(scope, "Add", graph.node(scope, "Add", words, types), places)
    return graph.layer_norm(scope, total, "embeddings.LayerNorm")


def mask_bias(graph):
    """0 where a token counts, the lowest number where it doesn't: [batch, 1, 1, sequence]"""
    scope = "/mask"
    wide = graph.node(scope, "Unsqueeze", graph.node(scope, "Unsqueeze", "attention_mask", graph.numbers(1)),
                      graph.numbers(2))
    inverted = graph.node(scope, "Sub", graph.real(1.0), graph.node(scope, "Cast", wide, to=onnx.FLOAT))
    return graph.node(scope, "Mul", inverted, graph.real(LOWEST))


def layer(graph, number, x, bias):
    name, scope = f"encoder.layer.{number}", f"/encoder/layer.{number}"
    attention = scope + "/attention/self"

    def part(which, order):
        value = graph.linear(f"{attention}/{which}", x, f"{name}.attention.self.{which}")
        return graph.node(attention, "Transpose", graph.heads(attention, value), perm=order)

    query, value = part("query", [0, 2, 1, 3]), part("value", [0, 2, 1, 3])
    key = part("key", [0, 2, 3, 1])
    scores = graph.node(attention, "Div", graph.node(attention, "MatMul", query, key),
                        graph.real(math.sqrt(WIDTH // HEADS)))
    weights = graph.node(attention, "Softmax", graph.node(attention, "Add", scores, bias), axis=-1)
    context = graph.node(attention, "Transpose", graph.node(attention, "MatMul", weights, value), perm=[0, 2, 1, 3])
    shape = graph.node(attention, "Concat", graph.extent(attention, context, 0), graph.extent(attention, context, 1),
                       graph.numbers(WIDTH), axis=0)
    context = graph.node(attention, "Reshape", context, shape)

    output = scope + "/attention/output"
    attended = graph.linear(output, context, f"{name}.attention.output.dense")
    attended = graph.layer_norm(output, graph.node(output, "Add", attended, x), f"{name}.attention.output.LayerNorm")

    inner = scope + "/intermediate"
    wide = graph.linear(inner, attended, f"{name}.intermediate.dense")
    erf = graph.node(inner, "Erf", graph.node(inner, "Div", wide, graph.real(math.sqrt(2.0))))
    gelu = graph.node(inner, "Mul", wide, graph.node(inner, "Add", erf, graph.real(1.0)))
    gelu = graph.node(inner, "Mul", gelu, graph.real(0.5))

    output = scope + "/output"
    narrow = graph.linear(output, gelu, f"{name}.output.dense")
    return graph.layer_norm(output, graph.node(output, "Add", narrow, attended), f"{name}.output.LayerNorm")


def pooling(graph, hidden):
    """The mean over the tokens that count, then length 1."""
    scope = "/pooling"
    wide = graph.node(scope, "Unsqueeze", "attention_mask", graph.numbers(2))
    mask = graph.node(scope, "Expand", graph.node(scope, "Cast", wide, to=onnx.FLOAT),
                      graph.node(scope, "Shape", hidden))
    total = graph.node(scope, "ReduceSum", graph.node(scope, "Mul", hidden, mask), graph.numbers(1), keepdims=0)
    count = graph.node(scope, "ReduceSum", mask, graph.numbers(1), keepdims=0)
    mean = graph.node(scope, "Div", total, graph.node(scope, "Clip", count, graph.real(1e-9)))
    norm = graph.node(scope, "ReduceL2", mean, axes=[1], keepdims=1)
    norm = graph.node(scope, "Clip", norm, graph.real(1e-12))
    return graph.node(scope, "Div", mean, norm)


def read_safetensors(path):
    """-> {name: (ONNX type, dims, bytes)}"""
    with open(path, "rb") as stream:
        size = struct.unpack("<Q", stream.read(8))[0]
        header = json.loads(stream.read(size))
        data = stream.read()
    kinds = {"F32": onnx.FLOAT, "I64": onnx.INT64}
    return {name: (kinds[entry["dtype"]], entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def convert(source, target):
    """Reads the safetensors file `source`, writes the model `target`."""
    if sys.byteorder != "little":
        sys.exit("minilm: only on little-endian machines")
    graph = Graph(read_safetensors(source))
    hidden, bias = embeddings(graph), mask_bias(graph)
    for number in range(LAYERS):
        hidden = layer(graph, number, hidden, bias)
    graph.nodes.append(onnx.node("Identity", [hidden], ["last_hidden_state"], "/last_hidden_state"))
    graph.nodes.append(onnx.node("Identity", [pooling(graph, hidden)], ["sentence_embedding"], "/sentence_embedding"))
    tokens = ["batch", "sequence"]
    inputs = [onnx.value(name, tokens, onnx.INT64) for name in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [onnx.value("last_hidden_state", [*tokens, WIDTH]), onnx.value("sentence_embedding", ["batch", WIDTH])]
    with open(target, "wb") as stream:
        stream.write(onnx.model(graph.nodes, inputs, outputs, graph.initializers, opset=14, ir=7,
                                name="all-MiniLM-L6-v2", producer="models/minilm.py"))
