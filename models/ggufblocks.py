"""The block types of GGUF tensors as what ONNX's quantised operators take:

    w[n, k] = (q[n, k] - zero[n, k / block]) * scale[n, k / block]

with q of 4 or 8 bits, and scale and zero in float32. Every type but the 2- and
3-bit ones has this form:

    type        block   bits   scale        zero
    Q4_0        32      4      d            8
    Q4_1        32      4      d            -m / d
    Q5_0        32      8      d            16
    Q5_1        32      8      d            -m / d
    Q8_0        32      8      d            128 (q is stored with 128 added)
    Q4_K        32      4      d * sc       (dmin * m) / (d * sc)
    Q5_K        32      8      d * sc       (dmin * m) / (d * sc)
    Q6_K        16      8      d * sc       128 (q is stored with 96 added)

Exact where zero is a whole number; elsewhere the quotient is rounded to float32,
which moves a weight by at most 2^-24 of zero * scale. A block whose scale is 0 is
the constant m: q = 0, scale = m, zero = -1. Layouts are those of ggml's
ggml-quants.c.

numpy only. `rows` are rows of a matrix, so that callers work on a piece at a time.
"""
import numpy as np

FLOATS = ("F32", "F16", "BF16")
# type: (bits, block, zero: a number or None where each block has its own)
FORMS = {"Q4_0": (4, 32, 8), "Q4_1": (4, 32, None), "Q5_0": (8, 32, 16), "Q5_1": (8, 32, None), "Q8_0": (8, 32, 128),
         "Q4_K": (4, 32, None), "Q5_K": (8, 32, None), "Q6_K": (8, 16, 128)}


class Blocks:
    """q: uint8 [rows, columns], one value a byte; scale, zero: float32 [rows, columns / block]; bits and block."""

    def __init__(self, kind, q, scale, zero):
        self.bits, self.block, self.common_zero = FORMS[kind]
        rows = scale.shape[0]
        self.q, self.scale = q.reshape(rows, -1), scale.reshape(rows, -1)
        self.zero = np.full_like(self.scale, self.common_zero) if zero is None else zero.reshape(rows, -1)

    def floats(self):
        rows = len(self.q)
        q = self.q.reshape(rows, -1, self.block).astype(np.float32)
        return ((q - self.zero[:, :, None]) * self.scale[:, :, None]).reshape(rows, -1)

    def packed(self):
        """MatMulNBits' B: uint8 [rows, blocks, block * bits / 8], the first value in the low bits."""
        rows = len(self.q)
        if self.bits == 8:
            return self.q.reshape(rows, -1, self.block)
        return (self.q[:, 0::2] | self.q[:, 1::2] << 4).reshape(rows, -1, self.block // 2)


def _fields(raw, **sizes):
    """Cuts blocks [rows, blocks, bytes] into their fields."""
    at, out = 0, []
    for size in sizes.values():
        out.append(raw[:, :, at:at + size])
        at += size
    assert at == raw.shape[2]
    return out


def _half(field):
    return np.ascontiguousarray(field).view(np.float16).astype(np.float32)[:, :, 0]


def _nibbles(field):
    """ggml puts the first half of a block into the low nibbles, the second into the high ones."""
    return np.concatenate((field & 15, field >> 4), axis=2)


def _fifth_bits(field):
    """Bit i of a little-endian 32-bit number belongs to value i."""
    return np.unpackbits(np.ascontiguousarray(field), axis=2, bitorder="little") << 4


def _offset(scale, least, q):
    """(q, scale, zero) such that (q - zero) * scale = q * scale + least."""
    flat = scale == 0
    if flat.any():
        q = np.where(flat[..., None], np.uint8(0), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = np.where(flat, np.float32(-1), -least / scale)
    return q, np.where(flat, least, scale), zero


def _q4_0(raw):
    d, quants = _fields(raw, d=2, quants=16)
    return _nibbles(quants), _half(d), None


def _q4_1(raw):
    d, m, quants = _fields(raw, d=2, m=2, quants=16)
    return _offset(_half(d), _half(m), _nibbles(quants))


def _q5_0(raw):
    d, high, quants = _fields(raw, d=2, high=4, quants=16)
    return _nibbles(quants) | _fifth_bits(high), _half(d), None


def _q5_1(raw):
    d, m, high, quants = _fields(raw, d=2, m=2, high=4, quants=16)
    return _offset(_half(d), _half(m), _nibbles(quants) | _fifth_bits(high))


def _q8_0(raw):
    d, quants = _fields(raw, d=2, quants=32)
    return quants ^ 128, _half(d), None


def _six_bit_pairs(field):
    """The eight 6-bit scales and minima of a block of 256 in 12 bytes -> two arrays [rows, blocks, 8]."""
    first, second, rest = field[:, :, 0:4], field[:, :, 4:8], field[:, :, 8:12]
    scales = np.concatenate((first & 63, rest & 15 | first >> 6 << 4), axis=2)
    minima = np.concatenate((second & 63, rest >> 4 | second >> 6 << 4), axis=2)
    return scales.astype(np.float32), minima.astype(np.float32)


def _q4_k(raw):
    d, dmin, pairs, quants = _fields(raw, d=2, dmin=2, pairs=12, quants=128)
    scales, minima = _six_bit_pairs(pairs)
    quants = quants.reshape(*quants.shape[:2], 4, 32)
    q = np.stack((quants & 15, quants >> 4), axis=3).reshape(*quants.shape[:2], 8, 32)
    return _offset(_half(d)[:, :, None] * scales, -(_half(dmin)[:, :, None] * minima), q)


def _q5_k(raw):
    d, dmin, pairs, high, quants = _fields(raw, d=2, dmin=2, pairs=12, high=32, quants=128)
    scales, minima = _six_bit_pairs(pairs)
    quants = quants.reshape(*quants.shape[:2], 4, 32)
    q = np.stack((quants & 15, quants >> 4), axis=3).reshape(*quants.shape[:2], 8, 32)
    bits = high[:, :, None, :] >> np.arange(8, dtype=np.uint8)[:, None] & 1  # bit j of byte l: value l of group j
    return _offset(_half(d)[:, :, None] * scales, -(_half(dmin)[:, :, None] * minima), q | bits << 4)


def _q6_k(raw):
    low, high, scales, d = _fields(raw, low=128, high=64, scales=16, d=2)
    low = low.reshape(*low.shape[:2], 2, 64)
    high = high.reshape(*high.shape[:2], 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    q = np.concatenate((low & 15, low >> 4), axis=3).reshape(*high.shape) | high << 4
    scales = np.ascontiguousarray(scales).view(np.int8).astype(np.float32)
    return q + np.uint8(96), _half(d)[:, :, None] * scales, None


READERS = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0, "Q4_K": _q4_k, "Q5_K": _q5_k,
           "Q6_K": _q6_k}


def is_known(kind):
    return kind in READERS or kind in FLOATS


def blocks(kind, raw):
    """`raw`: uint8 [rows, bytes of a row]."""
    sizes = {"Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q8_0": 34, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}
    return Blocks(kind, *READERS[kind](raw.reshape(len(raw), -1, sizes[kind])))


def floats(kind, raw):
    """float32 [rows, columns]"""
    if kind == "F32":
        return raw.view(np.float32)
    if kind == "F16":
        return raw.view(np.float16).astype(np.float32)
    if kind == "BF16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return blocks(kind, raw).floats()
