"""What can be wrong when running: inputs, options, outputs, the plan itself."""
import shutil

import onnxfile as onnx
import support

FOLDER = support.folder("run-errors")
_plan = []


def small_plan():
    """small_model, n from 1 to 4, for both architectures; compiled once."""
    if not _plan:
        model = FOLDER / "small.onnx"
        model.write_bytes(onnx.small_model())
        plan = FOLDER / "small.stint"
        support.expect(support.compile_model(model, plan, "--target", support.BOTH, "--dim", "n=1..4"), 0)
        _plan.append(plan)
    return _plan[0]


def array(name, dims, descr="<f4", values=None):
    path = FOLDER / name
    count = support.tensors.math.prod(dims)
    code = support.tensors.CODES[descr]
    values = values or [i % 7 - 3 for i in range(count)] if code not in "BHIQ" else [i % 7 for i in range(count)]
    support.tensors.write_npy(path, dims, support.tensors.array.array(code, values), descr)
    return path


def right():
    rows = [[(i * 3 + j) % 5 - 2 for j in range(8)] for i in range(3)]
    given = array("right.npy", (3, 8), values=[float(v) for row in rows for v in row])
    wanted = [v for row in onnx.small_answer(rows) for v in row]
    for program in ([support.RUN], support.qemu()):
        out = FOLDER / "right-out.npy"
        support.expect(support.run([*program, small_plan(), "--input", f"x={given}", "--output", f"y={out}"]), 0)
        shape, values = support.tensors.read_npy(out)
        assert tuple(shape) == (3, 4) and max(abs(a - b) for a, b in zip(values, wanted)) < 1e-5, values


def fails(code, *words, arguments):
    def test():
        plan = small_plan()
        given = [a() if callable(a) else a for a in arguments]
        support.expect(support.run([support.RUN, plan, *given]), code, *words)
    return test


def own_plan():
    """Nothing that is read is written over."""
    plan = FOLDER / "own.npy"
    plan.unlink(missing_ok=True)
    shutil.copy(small_plan(), plan)
    before = plan.read_bytes()
    command = [support.RUN, plan, "--input", array("right.npy", (3, 8))]
    support.expect(support.run([*command, "--output", plan]), 2, "destroy")
    support.expect(support.run([support.RUN, small_plan(), *command[2:], "--output", small_plan()]), 2, ".npy")
    assert plan.read_bytes() == before


def no_plan_but_model():
    done = support.run([support.RUN, (small_plan().parent / "small.onnx"), "--info"])
    support.expect(done, 4, "not a stint plan")


def dimensions_disagree():
    model = FOLDER / "two.onnx"
    model.write_bytes(onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                 [onnx.value("a", ["n", 4]), onnx.value("b", ["n", 4])], [onnx.value("y", ["n", 4])]))
    plan = FOLDER / "two.stint"
    support.expect(support.compile_model(model, plan, "--dim", "n=1..4"), 0)
    done = support.run([support.RUN, plan, "--input", f"a={array('a24.npy', (2, 4))}",
                        "--input", f"b={array('b34.npy', (3, 4))}"])
    support.expect(done, 1, "'n'", "'b'", "3", "2")


def other_architecture():
    """A plan for one architecture refuses on the other, saying which it is for."""
    model, x86, arm = FOLDER / "small.onnx", FOLDER / "x86.stint", FOLDER / "arm.stint"
    small_plan()
    support.expect(support.compile_model(model, x86, "--target", "x86_64-linux", "--dim", "n=1..4"), 0)
    support.expect(support.compile_model(model, arm, "--target", "aarch64-linux", "--dim", "n=1..4"), 0)
    given = array("right.npy", (3, 8))
    support.expect(support.run([support.RUN, arm, "--input", given]), 3, "variant")
    support.expect(support.run([*support.qemu(), x86, "--input", given]), 3, "variant")
    support.expect(support.run([*support.qemu(), arm, "--input", given]), 0)


def unwritable():
    given = array("right.npy", (3, 8))
    for place in (FOLDER / "no-such-folder" / "y.npy", "/proc/y.npy"):
        support.expect(support.run([support.RUN, small_plan(), "--input", given, "--output", place]), 1, "y.npy")
    full = FOLDER / "full.npy"
    full.unlink(missing_ok=True)
    full.symlink_to("/dev/full")
    support.expect(support.run([support.RUN, small_plan(), "--input", given, "--output", full]), 1, "full.npy")


def no_plan():
    support.expect(support.run([support.RUN, FOLDER / "nowhere.stint"]), 1, "nowhere.stint")
    text = FOLDER / "text.stint"
    text.write_text("no plan at all")
    support.expect(support.run([support.RUN, text]), 4, "text.stint")
    text.write_bytes(b"")
    support.expect(support.run([support.RUN, text]), 4)
    assert support.run([support.RUN, FOLDER]).returncode in (1, 4)


def newer_format():
    """A plan of a later format, or one that needs what this runtime doesn't know."""
    for offset, name in ((8, "major"), (16, "features")):
        plan = FOLDER / f"{name}.stint"
        shutil.copy(small_plan(), plan)
        with open(plan, "r+b") as stream:
            stream.seek(offset)
            stream.write(b"\x63\x00")
        done = support.run([support.RUN, plan, "--input", array("right.npy", (3, 8))])
        assert done.returncode in (3, 4) and done.text.strip(), done.text


def tests():
    x38 = lambda: array("right.npy", (3, 8))
    yield "right", right
    yield "no-plan", no_plan
    yield "newer-format", newer_format
    yield "other-architecture", other_architecture
    yield "own-plan", own_plan
    yield "model-for-plan", no_plan_but_model
    yield "dimensions-disagree", dimensions_disagree
    yield "missing-input", fails(2, "x", "f32", arguments=[])
    yield "missing-file", fails(1, "nowhere.npy", arguments=["--input", FOLDER / "nowhere.npy"])
    yield "extra-input", fails(2, "mask", "x", arguments=["--input", lambda: f"x={x38()}", "--input",
                                                         lambda: f"mask={x38()}"])
    yield "input-twice", fails(2, "already", arguments=["--input", x38, "--input", x38])
    yield "unknown-output", fails(2, "z", "y", arguments=["--input", x38, "--output", "z=out.npy"])
    yield "wrong-rank", fails(1, "x", "dimensions", arguments=["--input", lambda: array("a.npy", (24,))])
    yield "wrong-dimension", fails(1, "x", "8", arguments=["--input", lambda: array("a.npy", (3, 9))])
    yield "wrong-type", fails(1, "f64", "f32", arguments=["--input", lambda: array("a.npy", (3, 8), "<f8")])
    yield "wrong-type-int", fails(1, "i64", "f32", arguments=["--input", lambda: array("a.npy", (3, 8), "<i8")])
    yield "above-bound", fails(1, "1..4", "[5, 8]", arguments=["--input", lambda: array("a.npy", (5, 8))])
    yield "below-bound", fails(1, "1..4", "[0, 8]", arguments=["--input", lambda: array("a.npy", (0, 8))])
    yield "unknown-variant", fails(2, "sparc", arguments=["--variant", "sparc", "--input", x38])
    yield "unknown-option", fails(2, "--frobnicate", arguments=["--frobnicate"])
    yield "bad-threads", fails(2, "--threads", arguments=["--threads", "0"])
    yield "bad-cpus", fails(2, "--cpus", arguments=["--cpus", "1-"])
    yield "bad-bench", fails(2, "--bench", arguments=["--bench", "-3"])
    yield "bad-device", fails(2, "gpu", arguments=["--device", "gpu"])
    yield "bad-ending", fails(2, "x.txt", arguments=["--input", "x.txt"])
    yield "json-alone", fails(2, "--bench", arguments=["--json", "--input", x38])
    yield "unwritable", unwritable
