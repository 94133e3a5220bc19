"""The few parts of ONNX's protobuf files that the test runner reads: TensorProto
files, and the names of a model's inputs and outputs; and .npy files.

Field numbers are those of onnx.proto. Every tensor has a kind (a numpy type
name), a shape and a list of Python values.
"""
import ast
import collections
import math
import struct

Tensor = collections.namedtuple("Tensor", "kind shape values")

KINDS = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
         10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16"}
FORMATS = {"float32": "f", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "int32": "i", "int64": "q",
           "bool": "?", "float16": "e", "float64": "d", "uint32": "I", "uint64": "Q"}
NPY = {"<f4": "float32", "|u1": "uint8", "|i1": "int8", "<u2": "uint16", "<i2": "int16", "<i4": "int32",
       "<i8": "int64", "|b1": "bool", "<f2": "float16", "<f8": "float64", "<u4": "uint32", "<u8": "uint64", "<V2": "bfloat16"}


class Unsupported(Exception):
    """Data that the runner can't read."""


def varint(data, at):
    """-> (value, where it ends)"""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """-> (field number, wire type, value) of a message"""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, wire, value


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


def unpack(kind, data):
    if kind == "bfloat16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    size = struct.calcsize(FORMATS[kind])
    return list(struct.unpack(f"<{len(data) // size}{FORMATS[kind]}", data))


def messages(data, number):
    return [value for field, wire, value in fields(data) if field == number and wire == 2]


def read_sequence(path, optional):
    """The tensors of a SequenceProto, or of the one in an OptionalProto, as bytes."""
    data = path.read_bytes()
    if optional:
        data = b"".join(messages(data, 5))
    return messages(data, 3)


def read_optional(path):
    """The tensor in an OptionalProto, as bytes; none: the optional is empty."""
    return next(iter(messages(path.read_bytes(), 3)), None)


def read(path):
    return parse(path.read_bytes(), path.name)


def parse(data, name):
    dims, number, raw, values = [], 0, None, []
    for field, wire, value in fields(data):
        if field == 1:
            dims += list(varints(value)) if wire == 2 else [value]
        elif field == 2 and wire == 0:
            number = value
        elif field == 9:
            raw = value
        elif field in (4, 10):
            values += unpack("float32" if field == 4 else "float64", value)
        elif field in (5, 7, 11):
            values += list(varints(value)) if wire == 2 else [value]
    if number not in KINDS:
        raise Unsupported(f"{name} isn't a tensor of numbers")
    kind = KINDS[number]
    if raw is not None:
        values = unpack(kind, raw)
    elif kind in ("float16", "bfloat16"):
        values = unpack(kind, b"".join(struct.pack("<H", value) for value in values))
    elif kind == "bool":
        values = [bool(value) for value in values]
    elif kind == "uint64":
        values = [value % (1 << 64) for value in values]
    if len(values) != math.prod(dims):
        raise Unsupported(f"{name} isn't a tensor of numbers")
    return Tensor(kind, tuple(dims), values)


def as_declared(tensor, number):
    """ONNX's files hold bfloat16 as uint16."""
    if KINDS.get(number) == "bfloat16" and tensor.kind == "uint16":
        data = struct.pack(f"<{len(tensor.values)}H", *tensor.values)
        return Tensor("bfloat16", tensor.shape, unpack("bfloat16", data))
    return tensor


def raw_bfloat16(tensor):
    """The bytes of a bfloat16 tensor."""
    return b"".join(struct.pack("<f", value)[2:] for value in tensor.values)


def port_type(port):
    """What a ValueInfoProto holds: (is an optional, is a sequence, TensorProto.DataType or 0)."""
    port = b"".join(messages(port, 2))
    optional, sequence = messages(port, 9), []
    if optional:
        port = b"".join(messages(optional[0], 1))
    sequence = messages(port, 4)
    if sequence:
        port = b"".join(messages(sequence[0], 1))
    number = next((value for field, wire, value in fields(b"".join(messages(port, 1))) if field == 1 and wire == 0), 0)
    return bool(optional), bool(sequence), number


def graph_ports(path):
    """(name, type) of a model's inputs and outputs, in order."""
    inputs, outputs = [], []
    for field, _, value in fields(path.read_bytes()):
        if field != 7:  # ModelProto.graph
            continue
        for inner, _, port in fields(value):
            if inner in (11, 12):  # GraphProto.input, output
                name = next(text for number, _, text in fields(port) if number == 1).decode()
                (inputs if inner == 11 else outputs).append((name, port_type(port)))
    return inputs, outputs


def read_npy(path):
    data = path.read_bytes()
    wide = data[6] > 1
    size = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + size
    header = ast.literal_eval(data[start - size:start].decode("latin1"))
    if header["descr"] not in NPY:
        raise Unsupported(f"can't read {header['descr']}")
    kind = NPY[header["descr"]]
    return Tensor(kind, tuple(header["shape"]), unpack(kind, data[start:]))
