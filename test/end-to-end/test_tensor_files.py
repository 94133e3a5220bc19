"""Tensor files that stint-run reads: every good form gives the same answer,
every bad one is refused with a message, nothing crashes.
"""
import random
import struct

import onnxfile as onnx
import support
import test_run_errors

FOLDER = support.folder("tensor-files")
VALUES = [float(i % 5 - 2) for i in range(24)]
RAW = struct.pack("<24f", *VALUES)


def npy(header, data=RAW, version=1):
    header = header.encode("latin1")
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + data


GOOD_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 8), }"
DIMS = onnx.integer(1, 3) + onnx.integer(1, 8)


def run(name, data, *arguments):
    path = FOLDER / name
    path.write_bytes(data)
    out = FOLDER / "out.npy"
    out.unlink(missing_ok=True)
    return support.run([support.RUN, test_run_errors.small_plan(), "--input", path, "--output", out, *arguments],
                       timeout=30), out


def same_answer(name, data, *arguments):
    def test():
        done, out = run(name, data, *arguments)
        support.expect(done, 0)
        rows = [VALUES[i * 8:i * 8 + 8] for i in range(3)]
        wanted = [v for row in onnx.small_answer(rows) for v in row]
        values = support.tensors.read_npy(out)[1]
        assert max(abs(a - b) for a, b in zip(values, wanted)) < 1e-5, values
    return test


def refused(name, data, code, *words, arguments=()):
    def test():
        support.expect(run(name, data, *arguments)[0], code, *words)
    return test


def hostile(name, data):
    """Cut at every length, and with bytes changed at random."""
    def test():
        numbers = random.Random(3)
        for size in range(len(data)):
            done, _ = run(name, data[:size])
            assert done.returncode in (1, 4), f"{size} bytes: exit code {done.returncode}\n{done.text}"
        for _ in range(150):
            changed = bytearray(data)
            for _ in range(numbers.choice((1, 1, 3))):
                changed[numbers.randrange(len(data) - (96 if name.endswith(".npy") else 0))] = numbers.randrange(256)
            done, _ = run(name, bytes(changed))
            assert done.returncode in (0, 1, 3, 4), done.text
    return test


def output_forms():
    """.pb and .raw outputs hold what .npy holds; a .pb can be given back in."""
    plan = test_run_errors.small_plan()
    given = test_run_errors.array("right.npy", (3, 8))
    for ending in ("npy", "pb", "raw"):
        support.expect(support.run([support.RUN, plan, "--input", given, "--output", FOLDER / f"y.{ending}"]), 0)
    raw = (FOLDER / "y.raw").read_bytes()
    assert raw == support.tensors.read_npy(FOLDER / "y.npy")[1].tobytes()
    assert (FOLDER / "y.pb").read_bytes() == onnx.integer(1, 3) + onnx.integer(1, 4) + onnx.integer(2, 1) + \
        onnx.chunk(8, "y") + onnx.chunk(9, raw)


def pipe_refused():
    """A device never ends, a pipe may never begin: both are refused at once."""
    plan = test_run_errors.small_plan()
    link = FOLDER / "zero.npy"
    link.unlink(missing_ok=True)
    link.symlink_to("/dev/zero")
    support.expect(support.run([support.RUN, plan, "--input", link], timeout=20), 1, "regular file")


def tests():
    raw_field = onnx.chunk(9, RAW)
    floats = struct.pack("<24f", *VALUES)
    unpacked = b"".join(onnx.varint(4 << 3 | 5) + struct.pack("<f", v) for v in VALUES)
    shape = ("--shape", "3x8")
    yield "npy", same_answer("a.npy", npy(GOOD_HEADER))
    yield "npy-v2", same_answer("a.npy", npy(GOOD_HEADER, version=2))
    yield "npy-v3", same_answer("a.npy", npy(GOOD_HEADER, version=3))
    yield "npy-big-endian", same_answer("a.npy", npy(GOOD_HEADER.replace("<", ">"), struct.pack(">24f", *VALUES)))
    yield "npy-other-order", same_answer("a.npy", npy('{"shape":(3,8),"descr":"<f4","fortran_order":False}'))
    yield "pb-raw", same_answer("a.pb", DIMS + onnx.integer(2, 1) + raw_field)
    yield "pb-packed", same_answer("a.pb", onnx.chunk(1, b"\x03\x08") + onnx.integer(2, 1) + onnx.chunk(4, floats))
    yield "pb-unpacked", same_answer("a.pb", unpacked + onnx.integer(2, 1) + DIMS)
    yield "raw", same_answer("a.raw", RAW, *shape)
    yield "raw-named-shape", same_answer("a.raw", RAW, "--shape", "x=3x8")
    yield "raw-no-shape", refused("a.raw", RAW, 2, "--shape")
    yield "raw-short", refused("a.raw", RAW[:-1], 4, "96", arguments=shape)
    yield "raw-long", refused("a.raw", RAW + b"x", 4, "96", arguments=shape)
    yield "raw-huge-shape", refused("a.raw", RAW, 1, arguments=("--shape", "9223372036854775807x9223372036854775807"))
    yield "npy-shape-given", refused("a.npy", npy(GOOD_HEADER), 2, "--shape", arguments=shape)
    yield "npy-fortran", refused("a.npy", npy(GOOD_HEADER.replace("False", "True")), 1, "Fortran")
    yield "npy-object", refused("a.npy", npy(GOOD_HEADER.replace("<f4", "|O")), 1, "|O")
    yield "npy-strings", refused("a.npy", npy(GOOD_HEADER.replace("<f4", "<U8")), 1, "<U8")
    yield "npy-magic", refused("a.npy", b"NOTNUMPY" + RAW, 4, "a.npy")
    yield "npy-empty", refused("a.npy", b"", 4, "a.npy")
    yield "npy-version", refused("a.npy", npy(GOOD_HEADER, version=9), 4, "version")
    yield "npy-cut", refused("a.npy", npy(GOOD_HEADER, b"")[:60], 4, "ends inside the .npy header")
    yield "npy-short", refused("a.npy", npy(GOOD_HEADER, RAW[:-4]), 4, "92", "96")
    yield "npy-long", refused("a.npy", npy(GOOD_HEADER, RAW + RAW), 4)
    yield "npy-overflow", refused("a.npy", npy(GOOD_HEADER.replace("3, 8", "4611686018427387904, 4")), 4)
    yield "npy-negative", refused("a.npy", npy(GOOD_HEADER.replace("3, 8", "-3, -8")), 4)
    yield "npy-rank", refused("a.npy", npy(GOOD_HEADER.replace("3, 8", "1, " * 20)), 4, "dimensions")
    yield "npy-header-long", refused("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + RAW, 4)
    yield "pb-not-protobuf", refused("a.pb", b"\xff" * 50, 4, "a.pb")
    yield "pb-empty", refused("a.pb", b"", 4, "a.pb")
    yield "pb-wrong-size", refused("a.pb", DIMS + onnx.integer(2, 1) + onnx.chunk(9, RAW[:-4]), 4)
    yield "pb-few-values", refused("a.pb", DIMS + onnx.integer(2, 1) + onnx.chunk(4, floats[:-4]), 4)
    yield "pb-huge", refused("a.pb", onnx.integer(1, 1 << 40) + onnx.integer(2, 1) + onnx.chunk(4, floats), 4)
    yield "pb-external", refused("a.pb", onnx.external_tensor("x", [3, 8], "w.bin"), 1, "another file")
    yield "pb-unknown-type", refused("a.pb", DIMS + onnx.integer(2, 99) + raw_field, 4)
    yield "pb-strings", refused("a.pb", DIMS + onnx.integer(2, 8) + onnx.chunk(6, b"text"), 3)
    yield "hostile-npy", hostile("h.npy", npy(GOOD_HEADER))
    yield "hostile-pb", hostile("h.pb", DIMS + onnx.integer(2, 1) + onnx.chunk(8, "x") + raw_field)
    yield "output-forms", output_forms
    yield "endless-file", pipe_refused
