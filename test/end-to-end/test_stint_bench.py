"""stint-bench on a small model: that it measures everything it says. Times are never compared with anything."""
import json
import sys

import onnxfile
import support
import test_decoders

BENCH = support.ROOT / "tools" / "stint-bench" / "stint-bench"


def bench(*arguments):
    part = ["generate"] if arguments[0] == "generate" else []
    return support.run([sys.executable, BENCH, *part, "--build", support.BUILD, *arguments[len(part):]], timeout=600,
                       env={"STINT_MODELS": str(support.MODELS)})


def structure():
    folder = support.folder("bench")
    (folder / "small.onnx").write_bytes(onnxfile.small_model())
    support.tensors.write_npy(folder / "x.npy", (3, 8), support.tensors.array.array("f", range(24)))
    found = folder / "result.json"
    found.unlink(missing_ok=True)
    done = bench("--onnx", folder / "small.onnx", "--input", f"x={folder / 'x.npy'}", "--rounds", 1, "--json", found,
                 "--peers", "onnxruntime", "--", "--dim", "n=1..4")
    support.expect(done, 0, "| small", "stint-run:", "runtime core:", "GFLOP/s")
    result = json.loads(found.read_text())
    engines = ["stint", *result["peers"]]
    assert all(value > 0 for value in result["machine"].values()), result["machine"]
    model, = result["models"]
    for threads in result["threads"]:
        for engine in engines:
            times = model["latency_seconds"][str(threads)][engine]
            assert 0 < times["least"] <= times["median"], times
    for engine in engines:
        assert model["cold_start_seconds"][engine] > 0 and model["peak_bytes"][engine] > 100_000, model
    assert model["open_seconds"] > 0 and model["compile"]["seconds"] > 0, model
    assert model["compile"]["peak_bytes"] > model["peak_bytes"]["stint"], model
    assert model["kernels"] and all(kernel["dispatches"] for kernel in model["kernels"]), model["kernels"]
    if not result["peers"]:
        assert result["peers_left_out"]["onnxruntime"], "left out without a reason"
        return f"without a peer: {result['peers_left_out']['onnxruntime']}"
    assert model["difference"] < support.TOLERANCE, model["difference"]
    return None


def generation():
    """Of a tiny decoder, without peers: every figure is there."""
    if not test_decoders.GGUF.is_file():
        raise support.Skipped("no ../shared/data/stories260K.gguf")
    found = support.folder("bench") / "generation.json"
    found.unlink(missing_ok=True)
    done = bench("generate", "--gguf", test_decoders.GGUF, "--rounds", 1, "--json", found, "--peers", "none", "--prompt", 20,
                 "--contexts", "8,40", "--tokens", 4)
    if done.returncode == 4:
        raise support.Skipped(done.text.strip())
    support.expect(done, 0, "prefill of 20", "at 40, ms a token", "of bandwidth", "| first token")
    result = json.loads(found.read_text())
    model, = result["models"]
    engines = ["stint int8", "stint f32"]
    for threads in map(str, result["threads"]):
        for kind in ("prefill", "decode 8", "decode 40"):
            assert all(model["speeds"][threads][kind][engine] > 0 for engine in engines), model
        assert all(model["first_token_seconds"][threads][engine] > 0 for engine in engines), model
    for engine in engines:
        assert model["peak_bytes"][engine] > 100_000 and model["compile"][engine]["plan_bytes"] > 100_000, model
    assert model["bytes_per_token"]["weights"] > 100_000 and model["bytes_per_token"]["position"] > 0, model
    return None


def wrong_usage():
    for arguments, word in ((["--models", "nosuch"], "no model 'nosuch'"), (["--peers", "nosuch"], "no peer 'nosuch'"),
                            (["generate", "--models", "nosuch"], "no model 'nosuch'"),
                            (["generate", "--peers", "nosuch"], "no peer 'nosuch'"),
                            (["generate", "--contexts", "x"], "numbers"), (["generate", "--tokens", "0"], "at least 1"),
                            (["generate", "--activations", "f64"], "int8, f32"),
                            (["generate", "--gguf", "nosuch.gguf"], "isn't there")):
        support.expect(bench(*arguments), 2, word)


def run_measured():
    """Small processes are measured as small ones; exit codes and output pass."""
    program = support.BUILD / "bin" / "run-measured"
    done = support.expect(support.run([program, "sh", "-c", "echo said; exit 3"]), 3)
    result = json.loads(done.stdout)
    assert done.stderr == b"said\n" and result["seconds"] > 0 and 100_000 < result["peak_bytes"] < 10_000_000, done.text
    support.expect(support.run([program]), 2, "usage")


def tests():
    yield "structure", structure
    yield "generation", generation
    yield "wrong-usage", wrong_usage
    yield "run-measured", run_measured
