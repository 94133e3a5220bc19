"""Writes ONNX models whose weights don't fit into memory: a piece at a time.

    weight = onnxstream.Weight("w", [rows, columns], onnxfile.FLOAT, parts)

where parts() yields the data, little-endian and in order, as bytes-like pieces.
One file as long as protobuf's limit of 2 GiB allows it; beyond EXTERNAL, or on
request, the larger weights go into a file of their own beside the model, each at
a multiple of 4096 bytes.
"""
import math
import pathlib

import onnxfile as onnx

EXTERNAL = 1_500_000_000
ALIGNMENT = 4096
INSIDE = 1024  # weights smaller than this stay in the model's file
SIZES = {onnx.FLOAT: 4, onnx.UINT8: 1, onnx.INT8: 1, onnx.INT32: 4, onnx.INT64: 8, onnx.FLOAT16: 2}


class Weight:
    def __init__(self, name, dims, kind, parts):
        self.name, self.dims, self.kind, self.parts = name, [int(d) for d in dims], kind, parts
        self.size = math.prod(self.dims) * SIZES[kind]

    def head(self):
        """All of the TensorProto but the data."""
        return (b"".join(onnx.integer(1, d) for d in self.dims) + onnx.integer(2, self.kind) + onnx.chunk(8, self.name))

    def copy_to(self, stream):
        start = stream.tell()
        for part in self.parts():
            stream.write(part)
        if stream.tell() - start != self.size:
            raise ValueError(f"{self.name}: {stream.tell() - start} bytes, expected {self.size}")


def _head_of_chunk(field, size):
    return onnx.varint(field << 3 | 2) + onnx.varint(size)


def write(path, nodes, inputs, outputs, weights, *, opset, ir, domains=(), name, producer, external=None):
    """`external`: True or False for the weights in a file of their own; None decides by their size."""
    path = pathlib.Path(path)
    if external is None:
        external = sum(weight.size for weight in weights) > EXTERNAL
    outside = [weight for weight in weights if external and weight.size >= INSIDE]
    heads = {}
    if outside:
        data = path.with_name(path.name + ".data")
        with open(data, "wb") as stream:
            for weight in outside:
                stream.write(bytes(-stream.tell() % ALIGNMENT))
                heads[weight.name] = onnx.external_tensor(weight.name, weight.dims, data.name, stream.tell(),
                                                          weight.size, weight.kind)
                weight.copy_to(stream)

    # Protobuf wants the size of the graph before it, so the tensors' sizes come first and their data last.
    before = b"".join(onnx.chunk(1, node) for node in nodes) + onnx.chunk(2, name)
    after = b"".join(onnx.chunk(11, item) for item in inputs) + b"".join(onnx.chunk(12, item) for item in outputs)
    pieces = []  # (bytes, weight whose data follow or None)
    for weight in weights:
        if weight.name in heads:
            pieces.append((onnx.chunk(5, heads[weight.name]), None))
            continue
        head = weight.head() + _head_of_chunk(9, weight.size)
        pieces.append((_head_of_chunk(5, len(head) + weight.size) + head, weight))
    size = len(before) + len(after) + sum(len(head) + (weight.size if weight else 0) for head, weight in pieces)
    with open(path, "wb") as stream:
        stream.write(onnx.integer(1, ir) + onnx.chunk(2, producer))
        for domain, version in [("", opset), *domains]:
            stream.write(onnx.chunk(8, onnx.chunk(1, domain) + onnx.integer(2, version)))
        stream.write(_head_of_chunk(7, size) + before)
        for head, weight in pieces:
            stream.write(head)
            if weight:
                weight.copy_to(stream)
        stream.write(after)
