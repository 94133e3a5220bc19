"""stint explain: how every operator runs, what can't, bounds, FLOPs, memory."""
import json

import onnxfile as onnx
import support

FOLDER = support.folder("explain")


def small():
    path = FOLDER / "small.onnx"
    path.write_bytes(onnx.small_model())
    return path


def bounded():
    done = support.expect(support.run([support.STINT, "explain", small(), "--dim", "n=1..4"]), 0, "n (input 'x' axis 0): 1..4",
                          "1 contraction", "arena")
    lines = [line.split() for line in done.text.splitlines()]
    matmul = next(line for line in lines if line[:1] == ["MatMul"])
    assert matmul[1:3] == ["13", "1"] and matmul[4:] == ["1", "contraction"], matmul
    root = json.loads(support.expect(support.run([support.STINT, "explain", small(), "--dim", "n=1..4", "--json"]), 0)
                      .stdout)
    # 4 rows of 8 times [8, 4], then a sum and a maximum of each of the 16.
    assert root["flops"] == 2 * 4 * 8 * 4 + 2 * 16, root["flops"]
    assert root["weight_bytes"] >= (8 * 4 + 4) * 4 and root["supported"], root
    dim = {"name": "n", "where": "input 'x' axis 0", "lower": 1, "upper": 4, "step": 1}
    assert root["dynamic_dimensions"] == [dim], root["dynamic_dimensions"]
    by_name = {use["operator"]: use for use in root["operators"]}
    assert by_name["MatMul"]["contraction"] == 1 and by_name["Relu"]["contraction"] == 1, by_name


def unbounded():
    done = support.expect(support.run([support.STINT, "explain", small()]), 0, "n=LO..HI", "give every dynamic")
    assert "GFLOP" not in done.text


def unsupported():
    path = FOLDER / "unsupported.onnx"
    path.write_bytes(onnx.model([onnx.node("Relu", ["x"], ["a"]), onnx.node("NoSuchThing", ["a"], ["b"], name="first"),
                                 onnx.node("NorThis", ["b"], ["y"], name="second")],
                                [onnx.value("x", [2])], [onnx.value("y", [2])]))
    done = support.run([support.STINT, "explain", path])
    support.expect(done, 3, "unsupported: 1", "'first'", "'second'", "2 nodes are not supported")
    root = json.loads(support.run([support.STINT, "explain", path, "--json"]).stdout)
    assert [node["node"] for node in root["unsupported"]] == ["first", "second"] and not root["supported"]


def adds_up():
    """Every node of the file is in the table; dimensions that data decide are listed, and so are bounds to give."""
    path = FOLDER / "adds-up.onnx"
    path.write_bytes(onnx.model(
        [onnx.node("NonZero", ["x"], ["z"]), onnx.node("Neg", ["x"], ["nowhere"]), onnx.node("Neg", ["nowhere"], ["lost"]),
         onnx.node("Abs", ["x"], ["a"]), onnx.node("Range", ["s", "l", "d"], ["r"]),
         onnx.node("Range", ["d", "l", "d"], ["q"])],
        [onnx.value("x", [2, 3]), *(onnx.value(name, [], onnx.INT64) for name in "sld")],
        [onnx.value("z", [2, "n"], onnx.INT64), onnx.value("a", [2, 3]), onnx.value("r", ["m"], onnx.INT64),
         onnx.value("q", ["k"], onnx.INT64)]))
    support.expect(support.run([support.STINT, "explain", path]), 0, "6 nodes of 4 operators", "2 not used",
                   "z.1: at most 6", "compile needs --bound r.0=N", "compile needs --bound q.0=N")
    root = json.loads(support.run([support.STINT, "explain", path, "--json", "--bound", "r.0=5"]).stdout)
    assert {use["operator"]: use["unused"] for use in root["operators"]} == {
        "NonZero": 0, "Neg": 2, "Abs": 0, "Range": 0}, root["operators"]
    assert root["missing_bounds"] == ["q.0"], root["missing_bounds"]
    assert {dim["name"]: dim.get("upper") for dim in root["data_dependent_dimensions"]} == {
        "z.1": 6, "r.0": 5, "q.0": None}, root["data_dependent_dimensions"]


def padded():
    """An operator that needs more than a few elements is no obstacle where bounds are only assumed."""
    path = FOLDER / "padded.onnx"
    path.write_bytes(onnx.model([onnx.node("Pad", ["x", "p"], ["y"], mode="reflect")], [onnx.value("x", ["n"])],
                                [onnx.value("y", ["m"])], [onnx.tensor("p", [2], [30, 30], onnx.INT64)]))
    support.expect(support.run([support.STINT, "explain", path]), 0, "give lower bounds", "compile needs --dim n=N")
    support.expect(support.run([support.STINT, "explain", path, "--dim", "n=1..50"]), 3, "by more than it may have")


def trace():
    """The profile of a run says what each dispatch moved and computed."""
    plan, out = FOLDER / "small.stint", FOLDER / "trace.json"
    support.expect(support.compile_model(small(), plan, "--dim", "n=1..4"), 0)
    x = FOLDER / "x.npy"
    support.tensors.write_npy(x, (4, 8), support.tensors.array.array("f", [0.5] * 32), "<f4")
    support.expect(support.run([support.RUN, plan, "--input", x, "--profile", out, "--threads", "1"]), 0)
    events = json.loads(out.read_text())["traceEvents"]
    events = [event for event in events if event.get("cat") == "dispatch"]
    assert len(events) == 1, events
    facts = events[0]["args"]
    assert facts["flops"] == 288 and facts["bytes_written"] == 64 and facts["bytes_read"] >= 4 * 8 * 4, facts
    assert "MatMul" in facts["nodes"] and "Relu" in facts["nodes"] and events[0]["dur"] > 0, events


def tests():
    for function in (bounded, unbounded, unsupported, adds_up, padded, trace):
        yield function.__name__, function
