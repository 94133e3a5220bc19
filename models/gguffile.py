"""Reads and writes GGUF files (versions 2 and 3, little-endian).

    file = gguffile.File("model.gguf")
    file.metadata["general.architecture"]          # str, int, float, bool, or a list of them
    file.tensors["blk.0.attn_q.weight"].dims       # (rows, columns): the fastest dimension last

A tensor's data are a view of the mapped file: nothing is read before it is used.
The layout is that of ggml's docs/gguf.md: magic, version, counts, metadata (key,
type, value), infos of tensors (name, dimensions with the fastest first, type,
offset), padding, data. What a tensor's type means is in ggufblocks.py.
"""
import math
import mmap
import struct

MAGIC = b"GGUF"
ALIGNMENT = 32
# Types of metadata values.
UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
SCALARS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?",
           UINT64: "Q", INT64: "q", FLOAT64: "d"}
# Types of tensors: number -> (name, values in a block, bytes of a block).
TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
         7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
         12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 30: ("BF16", 1, 2)}
NUMBERS = {name: number for number, (name, _, _) in TYPES.items()}


class Damaged(Exception):
    """The file isn't a whole GGUF file that this module reads."""


def data_size(kind, dims):
    _, values, size = TYPES[NUMBERS[kind]]
    return math.prod(dims) // values * size


class Tensor:
    """`kind`: the name of its type; `dims`: the fastest last; `data`: a memoryview of the file. release() gives back
    the memory that pages of the file took; they are read again when they are needed."""

    def __init__(self, name, kind, dims, data, release):
        self.name, self.kind, self.dims, self.data, self.release = name, kind, dims, data, release


class _Cursor:
    def __init__(self, view):
        self.view, self.at = view, 0

    def take(self, size):
        if size > len(self.view) - self.at:
            raise Damaged(f"ends at byte {len(self.view)}, in the middle of its header")
        self.at += size
        return self.view[self.at - size:self.at]

    def unpack(self, code, count=1):
        return struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize("<" + code)))

    def number(self, code):
        return self.unpack(code)[0]

    def text(self):
        return bytes(self.take(self.number("Q"))).decode("utf-8", "surrogateescape")

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            item, count = self.number("I"), self.number("Q")
            if item in SCALARS:
                if count > len(self.view):
                    raise Damaged(f"an array of {count} values is longer than the file")
                return list(self.unpack(SCALARS[item], count))
            return [self.value(item) for _ in range(count)]
        if kind not in SCALARS:
            raise Damaged(f"a metadata value of unknown type {kind}")
        return self.number(SCALARS[kind])


class File:
    def __init__(self, path):
        with open(path, "rb") as stream:
            try:
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise Damaged(f"{path}: empty") from None
        self._release = lambda: mapped.madvise(mmap.MADV_DONTNEED)
        try:
            self._parse(memoryview(mapped))
        except Damaged as problem:
            raise Damaged(f"{path}: {problem}") from None

    def _parse(self, view):
        cursor = _Cursor(view)
        if bytes(cursor.take(4)) != MAGIC:
            raise Damaged("not a GGUF file")
        version = cursor.number("I")
        if version not in (2, 3):
            raise Damaged(f"GGUF version {version}; versions 2 and 3 are read")
        tensor_count, value_count = cursor.unpack("Q", 2)
        self.metadata, infos = {}, []
        for _ in range(value_count):
            key = cursor.text()
            self.metadata[key] = cursor.value(cursor.number("I"))
        for _ in range(tensor_count):
            name, rank = cursor.text(), cursor.number("I")
            if rank > 4:
                raise Damaged(f"{name} has {rank} dimensions")
            dims = tuple(reversed(cursor.unpack("Q", rank)))
            number, offset = cursor.number("I"), cursor.number("Q")
            if number not in TYPES:
                raise Damaged(f"{name} has type {number}, which isn't read")
            if rank and dims[-1] % TYPES[number][1]:
                raise Damaged(f"{name} has rows of {dims[-1]}, not whole blocks of {TYPES[number][0]}")
            infos.append((name, TYPES[number][0], dims, offset))
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        start = -(-cursor.at // alignment) * alignment
        self.tensors = {}
        for name, kind, dims, offset in infos:
            first, size = start + offset, data_size(kind, dims)
            if first + size > len(view):
                raise Damaged(f"{name} lies beyond the end of the file")
            self.tensors[name] = Tensor(name, kind, dims, view[first:first + size], self._release)


def _text(text):
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    if kind == STRING:
        return _text(value)
    if isinstance(kind, tuple):  # (ARRAY, type of the items)
        return struct.pack("<IQ", kind[1], len(value)) + b"".join(_value(kind[1], item) for item in value)
    return struct.pack("<" + SCALARS[kind], value)


def write(path, metadata, tensors):
    """`metadata`: [(key, type or (ARRAY, type of the items), value)]; `tensors`: [(name, kind, dims, parts)], where
    parts() yields the data as bytes-like pieces. One piece is in memory at a time."""
    with open(path, "wb") as stream:
        stream.write(MAGIC + struct.pack("<IQQ", 3, len(tensors), len(metadata)))
        for key, kind, value in metadata:
            number = kind[0] if isinstance(kind, tuple) else kind
            stream.write(_text(key) + struct.pack("<I", number) + _value(kind, value))
        offset = 0
        for name, kind, dims, _ in tensors:
            stream.write(_text(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *reversed(dims))
                         + struct.pack("<IQ", NUMBERS[kind], offset))
            offset += -(-data_size(kind, dims) // ALIGNMENT) * ALIGNMENT
        for name, kind, dims, parts in tensors:
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            start = stream.tell()
            for part in parts():
                stream.write(part)
            if stream.tell() - start != data_size(kind, dims):
                raise ValueError(f"{name}: {stream.tell() - start} bytes, expected {data_size(kind, dims)}")
        stream.write(bytes(-stream.tell() % ALIGNMENT))
