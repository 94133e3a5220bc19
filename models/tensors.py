"""Tensors and pictures with Python's standard library alone.

.npy files (float32 and what tests need), PNG pictures (8 bits, not
interlaced), and the preprocessing of each model in golden/cases.json.
"""
import array
import ast
import gzip
import math
import struct
import sys
import zlib

CODES = {"<f4": "f", "<f8": "d", "|i1": "b", "|u1": "B", "|b1": "B", "<i2": "h", "<u2": "H",
         "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q"}


def parse_npy(data):
    """bytes -> (shape, array.array)"""
    if data[:6] != b"\x93NUMPY":
        raise ValueError("not a .npy file")
    wide = data[6] > 1
    size = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + size
    header = ast.literal_eval(data[start - size:start].decode("latin1"))
    if header["fortran_order"] or header["descr"] not in CODES:
        raise ValueError(f"can't read {header}")
    values = array.array(CODES[header["descr"]])
    values.frombytes(data[start:])
    if sys.byteorder == "big":
        values.byteswap()
    if len(values) != math.prod(header["shape"]):
        raise ValueError("size and shape differ")
    return header["shape"], values


def read_npy(path):
    """Reads .npy, or .npy.gz."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as stream:
        return parse_npy(stream.read())


def format_npy(shape, values, descr=None):
    """`descr`: the element type; without it that of the array."""
    descr = descr or {"f": "<f4", "q": "<i8"}[values.typecode]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    if sys.byteorder == "big":
        values = array.array(values.typecode, values)
        values.byteswap()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes()


def write_npy(path, shape, values, descr=None):
    with open(path, "wb") as stream:
        stream.write(format_npy(shape, values, descr))


def read_png(path):
    """-> (width, height, bytes of RGB, row by row). PNG specification, section 9: filters."""
    with open(path, "rb") as stream:
        data = stream.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path}: not a PNG file")
    at, packed, palette = 8, b"", b""
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
        elif kind == b"PLTE":
            palette = body
        elif kind == b"IDAT":
            packed += body
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(colour)
    if depth != 8 or interlace or not channels:
        raise ValueError(f"{path}: only PNG with 8 bits a channel and no interlacing is read")
    raw, stride, at = zlib.decompress(packed), width * channels, 0
    above, rgb = bytearray(stride), bytearray()
    for _ in range(height):
        kind, line = raw[at], bytearray(raw[at + 1:at + 1 + stride])
        at += 1 + stride
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + above[i]) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + above[i]) // 2) & 255
            elif kind == 4:
                p = left + above[i] - corner
                a, b, c = abs(p - left), abs(p - above[i]), abs(p - corner)
                best = left if a <= b and a <= c else above[i] if b <= c else corner
                line[i] = (line[i] + best) & 255
        above = line
        for x in range(width):
            pixel = line[x * channels:(x + 1) * channels]
            if colour == 3:
                rgb += palette[pixel[0] * 3:pixel[0] * 3 + 3]
            elif channels < 3:
                rgb += bytes(pixel[:1]) * 3
            else:
                rgb += pixel[:3]
    return width, height, bytes(rgb)


def resize(width, height, rgb, new_width, new_height):
    """Bilinear, pixel centres aligned."""
    out = bytearray()
    for y in range(new_height):
        fy = min(max((y + 0.5) * height / new_height - 0.5, 0), height - 1)
        y0 = int(fy)
        y1, fy = min(y0 + 1, height - 1), fy - y0
        for x in range(new_width):
            fx = min(max((x + 0.5) * width / new_width - 0.5, 0), width - 1)
            x0 = int(fx)
            x1, tx = min(x0 + 1, width - 1), fx - x0
            for c in range(3):
                top = rgb[(y0 * width + x0) * 3 + c] * (1 - tx) + rgb[(y0 * width + x1) * 3 + c] * tx
                low = rgb[(y1 * width + x0) * 3 + c] * (1 - tx) + rgb[(y1 * width + x1) * 3 + c] * tx
                out.append(int(top * (1 - fy) + low * fy + 0.5))
    return new_width, new_height, bytes(out)


def text_lines(pictures):
    """PP-OCR: lines 48 pixels high, planes B G R, values (x / 255 - 0.5) / 0.5."""
    width = pictures[0][0]
    values = array.array("f")
    table = [(x / 255 - 0.5) / 0.5 for x in range(256)]
    for picture in pictures:
        if picture[:2] != (width, 48):
            raise ValueError("text lines of one batch are 48 pixels high and equally wide")
        for channel in (2, 1, 0):
            values.extend(table[x] for x in picture[2][channel::3])
    return (len(pictures), 3, 48, width), values


def photographs(pictures):
    """open_nsfw: 224 x 224 pixels, B G R interleaved, means subtracted."""
    values = array.array("f")
    for width, height, rgb in pictures:
        if (width, height) != (224, 224):
            raise ValueError("open_nsfw takes pictures of 224 x 224 pixels")
        for i in range(0, len(rgb), 3):
            values.extend((rgb[i + 2] - 104.0, rgb[i + 1] - 117.0, rgb[i] - 123.0))
    return (len(pictures), 224, 224, 3), values


def pages(pictures):
    """PP-OCR detection: sides are multiples of 32, planes B G R, ImageNet's means and deviations (of R G B, as
    the model was trained)."""
    width, height = pictures[0][:2]
    values = array.array("f")
    for picture in pictures:
        if picture[:2] != (width, height) or width % 32 or height % 32:
            raise ValueError("pages of one batch are equally large, their sides multiples of 32")
        for channel, mean, deviation in ((2, 0.485, 0.229), (1, 0.456, 0.224), (0, 0.406, 0.225)):
            table = [(x / 255 - mean) / deviation for x in range(256)]
            values.extend(table[x] for x in picture[2][channel::3])
    return (len(pictures), 3, height, width), values


PREPROCESSING = {"text-lines": text_lines, "photographs": photographs, "pages": pages}
