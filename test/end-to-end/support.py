"""What end-to-end tests share: the programs, running them, comparing tensors."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STINT_BUILD") or ROOT / "build")
MODELS = pathlib.Path(os.environ.get("STINT_MODELS") or BUILD / "models")
STINT = BUILD / "bin" / "stint"
RUN = BUILD / "bin" / "stint-run"
RUN_AARCH64 = BUILD / "bin" / "stint-run-aarch64"
WORK = BUILD / "end-to-end"
BOTH = "x86_64-linux,aarch64-linux"
TOLERANCE = 1e-4  # of the largest absolute value

sys.path.insert(0, str(ROOT / "models"))
import cases
import tensors

CASES = cases.ALL


class Skipped(Exception):
    """A test that can't run here, and why."""


def folder(name):
    path = WORK / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def run(command, timeout=120, env=None, cwd=None):
    """Runs a program that must neither crash nor hang."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              env={**os.environ, **env} if env else None, cwd=cwd)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"no end after {timeout} s: {' '.join(command)}") from None
    done.text = (done.stdout + done.stderr).decode("utf-8", "replace")
    done.command = " ".join(command)
    if done.returncode < 0 or done.returncode >= 128:
        raise AssertionError(f"crashed ({done.returncode}): {done.command}\n{done.text[-2000:]}")
    return done


def expect(done, code, *words):
    """The exit code is right, and the message holds each of the words."""
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}, expected {code}: {done.command}\n{done.text[-2000:]}")
    for word in words:
        if word.lower() not in done.text.lower():
            raise AssertionError(f"the message doesn't say '{word}': {done.command}\n{done.text[-2000:]}")
    return done


def compile_model(model, plan, *flags, timeout=600):
    return run([STINT, "compile", model, "-o", plan, *flags], timeout=timeout)


def dim_flags(model):
    return cases.compile_flags(model, folder("inputs"))


_made = {}


def real_plan(name):
    """A model of cases.json compiled for both architectures, once a run."""
    if name not in _made:
        model = CASES[name]
        file = MODELS / model["file"]
        if not file.is_file():
            raise AssertionError(f"{file} isn't there: run models/fetch")
        plan = folder("plans") / f"{name}.stint"
        plan.unlink(missing_ok=True)
        _made[name] = AssertionError(f"{name} didn't compile")
        expect(compile_model(file, plan, "--target", BOTH, *dim_flags(model)), 0)
        _made[name] = plan
    if isinstance(_made[name], Exception):
        raise _made[name]
    return _made[name]


_inputs = {}


def case_inputs(name, case):
    """The input tensors of a case, as .npy: {input's name, or "" for the only one: path}."""
    if case["name"] not in _inputs:
        paths = {}
        for given, tensor in cases.inputs(CASES[name], case).items():
            paths[given] = folder("inputs") / f"{case['name']}{'.' if given else ''}{given}.npy"
            tensors.write_npy(paths[given], *tensor)
        _inputs[case["name"]] = paths
    return _inputs[case["name"]]


def case_input(name, case):
    """The tensor of the only input."""
    path, = case_inputs(name, case).values()
    return path


def input_flags(name, case):
    return [flag for given, path in case_inputs(name, case).items()
            for flag in ("--input", f"{given}={path}" if given else path)]


def run_case(program, name, case, label, *flags):
    """Runs a case, returns its outputs in the order of cases.outputs: [path]."""
    model, paths = CASES[name], []
    for output, _, _ in cases.outputs(model, case):
        path = folder("outputs") / f"{case['name']}{'.' if output else ''}{output}-{label}.npy"
        path.unlink(missing_ok=True)
        paths.append(path)
        flags = [*flags, "--output", f"{output}={path}" if output else path]
    expect(run([*program, real_plan(name), *input_flags(name, case), *flags], timeout=900), 0)
    return paths


def hear(program, name, case, label, *flags):
    """A recording, a run for each frame with the state inside: like run_case, but the one output is what all runs
    gave first, in a row."""
    frames, path = (folder("outputs") / f"{case['name']}-{label}.{part}npy" for part in ("frames.", ""))
    values, count = tensors.array.array("f"), 0
    for shape, frame in cases.frames(CASES[name], case["recording"]):
        values.extend(frame)
        count += 1
    tensors.write_npy(frames, (count, *shape), values)
    path.unlink(missing_ok=True)
    expect(run([*program, real_plan(name), "--sequence", "--input", f"input={frames}", "--output",
                f"output={path}", *flags], timeout=900), 0)
    heard = tensors.read_npy(path)[1]
    tensors.write_npy(path, (len(heard),), heard)
    return [path]


def answer(program, name, case, label, *flags):
    if CASES[name]["input"] != "speech":
        return run_case(program, name, case, label, *flags)
    if not pathlib.Path(case["recording"]).is_file():
        raise Skipped(f"no {case['recording']} (Debian's pocketsphinx-testdata)")
    return hear(program, name, case, label, *flags)


def difference(path, golden, every=1):
    """Largest absolute difference over largest absolute value; the golden file holds one of `every` values."""
    shape, values = tensors.read_npy(path)
    wanted_shape, wanted = tensors.read_npy(golden)
    assert all(a == a for a in values), "an output is not a number"
    if every > 1:
        values = values[::every]
        shape = (len(values),)
    assert tuple(shape) == tuple(wanted_shape), f"shape {shape}, expected {wanted_shape}"
    largest = max(map(abs, wanted))
    return max(abs(a - b) for a, b in zip(values, wanted)) / largest


def compare(paths, name, case):
    """Answers of a case against its golden files: the largest difference."""
    worst = 0.0
    for path, (output, golden, every) in zip(paths, cases.outputs(CASES[name], case), strict=True):
        error = difference(path, golden, every)
        assert error <= TOLERANCE, f"{output or 'the output'} differs by {error:.2e} of the largest value"
        worst = max(worst, error)
    return worst


def qemu(cpu="max"):
    if not shutil.which("qemu-aarch64"):
        raise Skipped("no qemu-aarch64 here")
    if not RUN_AARCH64.is_file():
        raise Skipped("stint-run wasn't built for AArch64")
    return ["qemu-aarch64", "-cpu", cpu, RUN_AARCH64]


class Table:
    """A table of a flatbuffer, enough to look into plans (runtime/schema/plan.fbs)."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def _field(self, number):
        size = struct.unpack_from("<H", self.data, self.vtable)[0]
        where = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, self.vtable + where)[0] if where < size else 0
        return self.at + offset if offset else 0

    def number(self, number, code="I", default=0):
        at = self._field(number)
        return struct.unpack_from("<" + code, self.data, at)[0] if at else default

    def _vector(self, number):
        at = self._field(number)
        if not at:
            return 0, 0
        at += struct.unpack_from("<I", self.data, at)[0]
        return at + 4, struct.unpack_from("<I", self.data, at)[0]

    def text(self, number):
        at, size = self._vector(number)
        return self.data[at:at + size].decode()

    def numbers(self, number, code):
        at, count = self._vector(number)
        return list(struct.unpack_from(f"<{count}{code}", self.data, at)) if count else []

    def tables(self, number):
        at, count = self._vector(number)
        places = [at + 4 * i for i in range(count)]
        return [Table(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in places]


class PlanFile:
    """A .stint file taken apart: runtime/schema/plan_file.h."""

    def __init__(self, path):
        self.data = data = pathlib.Path(path).read_bytes()
        assert data[:8] == b"STINT\r\n\x1a", "not a plan"
        (self.major, self.minor, count, _, self.size, table, self.plan_offset,
         self.plan_size) = struct.unpack_from("<HHIQQQQQ", data, 8)
        # kind, offset, size of each section
        self.sections = [struct.unpack_from("<I4xQQ", data, table + 64 * i) for i in range(count)]
        self.table_end = table + 64 * count
        plan = data[self.plan_offset:self.plan_offset + self.plan_size]
        self.plan = Table(plan, struct.unpack_from("<I", plan, 0)[0])

    def variants(self):
        """name, machine (1 x86-64, 2 AArch64), code, offsets of the kernels"""
        for table in self.plan.tables(7):
            _, offset, size = self.sections[table.number(4)]
            yield (table.text(0), table.number(1, "B"), self.data[offset:offset + size],
                   table.numbers(5, "Q"))
