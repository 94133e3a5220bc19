"""stint-run's options: information, benchmark, trace, devices, limits."""
import json
import os
import re

import onnxfile
import support
import test_run_errors

FOLDER = support.folder("stint-run")


def given():
    path = FOLDER / "x.npy"
    support.tensors.write_npy(path, (3, 8), support.tensors.array.array("f", range(24)))
    return path


def call(*arguments, code=0, words=()):
    return support.expect(support.run([support.RUN, test_run_errors.small_plan(), *arguments]), code, *words)


def info():
    plan = test_run_errors.small_plan()
    text = call("--info").stdout.decode()
    for words in ("input 'x': f32 [n 1..4, 8]", "output 'y': f32", "in use", "arena", "weights"):
        assert words in text, f"no '{words}' in:\n{text}"
    for name, *_ in support.PlanFile(plan).variants():
        assert name in text, f"no '{name}' in:\n{text}"


def summary():
    text = call("--input", given()).stdout.decode()
    assert re.search(r"y: f32 \[3, 4\]\n  first: \S+ .*\n  argmax: \[\d, \d\] = ", text), text


def sequence():
    """A run for each element of the first dimension; outputs are stacked."""
    path, out = FOLDER / "steps.npy", FOLDER / "steps-y.npy"
    values = support.tensors.array.array("f", (i * 7 % 11 - 5 for i in range(80)))
    support.tensors.write_npy(path, (5, 2, 8), values)
    out.unlink(missing_ok=True)
    call("--sequence", "--input", path, "--output", out)
    shape, found = support.tensors.read_npy(out)
    rows = onnxfile.small_answer([values[i:i + 8] for i in range(0, 80, 8)])
    assert tuple(shape) == (5, 2, 4), shape
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, sum(rows, []), strict=True)), found
    call("--sequence", "--input", path, words=["y: f32 [2, 4]"])
    call("--sequence", "--input", given(), code=1, words=["number of dimensions"])
    call("--sequence", "--input", path, "--bench", 2, code=2, words=["--sequence", "--bench"])
    support.tensors.write_npy(path, (0, 2, 8), support.tensors.array.array("f"))
    call("--sequence", "--input", path, code=1, words=["first dimension"])


def bench():
    text = call("--input", given(), "--bench", 20, "--json", "--threads", 2).stdout.decode()
    result = json.loads(text)
    assert result["runs"] == 20 and result["threads"] == 2, text
    assert 0 < result["min_ns"] <= result["median_ns"] <= result["p99_ns"] <= result["max_ns"], text
    call("--shape", "x=2x8", "--bench", 3, words=["median"])


def trace():
    path = FOLDER / "trace.json"
    call("--input", given(), "--profile", path)
    events = json.loads(path.read_text())["traceEvents"]
    assert all(event["ph"] in "XM" and event["pid"] == 1 for event in events), events
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert any(name.startswith("caller") for name in names), names
    done = [event for event in events if event["ph"] == "X" and event["cat"] == "dispatch"]
    assert done and all(event["dur"] >= 0 and event["tid"] >= 0 for event in done), events
    matmul = [event["args"] for event in done if "matmul" in event["args"]["nodes"]]
    # x [3, 8] times [8, 4]: 2 * 3 * 8 * 4 operations, and what is fused to it.
    assert matmul and 192 <= matmul[0]["flops"] < 300, events
    assert matmul[0]["bytes_read"] >= 4 * (3 * 8 + 8 * 4) and matmul[0]["bytes_written"] == 4 * 3 * 4, events
    assert sum(event["cat"] == "run" for event in events if event["ph"] == "X") == 1, events


def null_device():
    call("--input", given(), "--device", "null", words=["y: f32 [3, 4]"])


def timeout():
    """A deadline that can't be met ends the run; one that can doesn't."""
    model = support.CASES["open-nsfw"]
    plan = support.real_plan("open-nsfw")
    case = support.case_input("open-nsfw", model["cases"][2])
    support.expect(support.run([support.RUN, plan, "--input", case, "--timeout-ms", 1]), 1, "timeout-ms")
    support.expect(support.run([support.RUN, plan, "--input", case, "--timeout-ms", 100000]), 0)


def cpus():
    if not hasattr(os, "sched_getaffinity"):
        raise support.Skipped("no affinity here")
    cpu = min(os.sched_getaffinity(0))
    call("--input", given(), "--cpus", cpu)
    call("--input", given(), "--cpus", 1000, code=1, words=["--cpus"])


def size():
    """The programs that ship stay small, and need nothing on the device."""
    sizes = []
    for program in (support.RUN, support.RUN_AARCH64):
        data = program.read_bytes()
        assert data[:4] == b"\x7fELF" and b"ld-linux" not in data and b"ld-musl" not in data, \
            f"{program.name} isn't static"
        assert len(data) <= 200 * 1024, f"{program.name} has {len(data)} bytes"
        sizes.append(f"{program.name} {len(data)} bytes")
    return ", ".join(sizes)


def help_text():
    text = support.expect(support.run([support.RUN, "--help"]), 0).stdout.decode()
    for option in ("--input", "--output", "--threads", "--cpus", "--variant", "--bench", "--json", "--profile",
                   "--verify", "--info", "--device", "--timeout-ms", "--shape"):
        assert option in text, f"--help doesn't mention {option}"
    support.expect(support.run([support.RUN, "--version"]), 0, "stint-run 0.")


def tests():
    yield "info", info
    yield "summary", summary
    yield "bench", bench
    yield "trace", trace
    yield "null-device", null_device
    yield "timeout", timeout
    yield "cpus", cpus
    yield "sequence", sequence
    yield "size", size
    yield "help", help_text
