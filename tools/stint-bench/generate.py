"""Measures text generation: stint beside llama.cpp and onnxruntime-genai, in one run.

usage: tools/stint-bench/stint-bench generate [--models NAME,... | --gguf FILE] [--rounds N] [--json FILE]
           [--build FOLDER] [--peers llama.cpp,onnxruntime-genai|none] [--activations int8,f32]
           [--prompt N] [--contexts N,...] [--tokens N]

Models: smollm2-135m (models/fetch smollm2-135m-instruct.gguf) and synthetic-llama-1b, which
models/synthetic-llama makes, or a GGUF file of the Llama architecture of your own. The engines take
turns: each reads a prompt of --prompt tokens, then the next one, --rounds times; then, beginning at each
of --contexts, each generates --tokens tokens and goes back. On one thread and on all. Times are medians.
In processes of their own: the first token after 16, peak memory, the compiler. docs/performance.md says
how to read the result. llama-cpp-python has no binaries: the first time, it takes ten minutes to build.
Exit code 4: numpy can't be had.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import decoders
import environment
import report
from processes import Failure, command, last_json, machine_limits, measured

ROOT = decoders.HERE.parents[1]
KNOWN = {"smollm2-135m": "smollm2-135m-instruct.gguf", "synthetic-llama-1b": None}  # None: made here
FIRST_PROMPT = 16  # tokens in front of the first token of a process
KV_TYPE = "f16"  # as the peers'


def gguf_of(name, folder):
    """The GGUF file of a model that stint-bench knows."""
    if KNOWN[name]:
        path = environment.MODELS / KNOWN[name]
        if not path.is_file():
            raise Failure(f"{path} isn't there: run models/fetch {KNOWN[name]}")
        return path
    path = folder / "model.gguf"
    if not path.is_file():
        part = path.with_suffix(".part")
        command(sys.executable, ROOT / "models" / "synthetic-llama", part)
        part.rename(path)
    return path


def onnx_of(gguf, folder):
    """The same model as a folder with model.onnx and genai_config.json."""
    target = folder / "onnx"
    if not (target / "model.onnx").is_file() or (target / "model.onnx").stat().st_mtime < gguf.stat().st_mtime:
        command(sys.executable, ROOT / "models" / "make-decoder", gguf, target, "--external")
    return target


def compiled(files, activations, context, result):
    """A plan for this machine; notes in result what it took."""
    spent, _ = measured(options.build, options.build / "bin" / "stint", "compile", files.folder / "model.onnx", "-o",
                        files.plan, "-q", "--target", "host", "--activations", activations, "--kv-type", KV_TYPE,
                        "--context", context)
    result["compile"][f"stint {activations}"] = {
        "seconds": spent["seconds"], "peak_bytes": spent["peak_bytes"], "plan_bytes": files.plan.stat().st_size}


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def in_turns(engines, rounds, work):
    """{engine's name: median seconds of what work(engine) says}"""
    names, times = list(engines), {name: [] for name in engines}
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(number + place) % len(names)]
            time.sleep(0.02)  # threads that spin come to rest
            times[name].append(work(engines[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def speeds(makers, threads, context, result):
    """What the engines do on so many threads: {"prefill": {name: s}, "decode 128": {name: s a token}, ...}"""
    engines = {}
    for name, make in list(makers.items()):
        try:
            engines[name] = make(threads, context)
            engines[name].begin(decoders.prompt_of(FIRST_PROMPT))
        except Exception as error:  # peers raise what they like
            if name.startswith("stint"):
                raise
            engines.pop(name, None)
            result["left_out"][name] = f"doesn't take the model: {(str(error).strip() or type(error).__name__)[-200:]}"
    found, prompt = {}, decoders.prompt_of(options.prompt)
    found["prefill"] = in_turns(engines, options.rounds, lambda engine: timed(lambda: engine.begin(prompt)))
    for length in options.contexts:
        chosen = {}
        for name, engine in engines.items():
            engine.begin(decoders.prompt_of(length))
            engine.go_on(options.tokens)
            chosen[name] = engine.tokens()

        def tokens(engine):
            engine.rewind()
            return timed(lambda: engine.go_on(options.tokens)) / options.tokens
        found[f"decode {length}"] = in_turns(engines, options.rounds, tokens)
        # What is fast must also be right: how many of the first tokens are the same.
        first, *others = chosen.values()
        for name, theirs in zip(list(chosen)[1:], others):
            same = next((at for at, pair in enumerate(zip(first, theirs)) if pair[0] != pair[1]), len(first))
            result["same_tokens"].setdefault(name, {})[f"{threads} threads, after {length}"] = [same, len(first)]
    for engine in engines.values():
        engine.close()
    return found


def first_tokens(files, plans, peers, threads, context, result):
    """Time from the start of a process to its first token, and its peak memory."""
    prompt = decoders.prompt_of(FIRST_PROMPT)
    ours = {name: [options.build / "bin" / "stint-run", "generate", plan, "--tokens", ",".join(map(str, prompt)),
                   "--max-tokens", 1, "--ignore-end", "--threads", threads] for name, plan in plans.items()}
    theirs = {peer: [sys.executable, decoders.HERE / "decoders.py", peer, files.gguf, files.folder, threads, context,
                     FIRST_PROMPT] for peer in peers if peer not in result["left_out"]}
    seconds, peak = {}, {}
    for _ in range(max(3, options.rounds)):
        for name, parts in (ours | theirs).items():
            spent, text = measured(options.build, *parts)
            if name in theirs:
                spent["seconds"] = last_json(text)["first_token_seconds"]
            seconds.setdefault(name, []).append(spent["seconds"])
            peak[name] = max(peak.get(name, 0), spent["peak_bytes"])
    return {name: statistics.median(values) for name, values in seconds.items()}, peak


def measure(name, gguf, peers):
    folder = options.build / "stint-bench" / name
    folder.mkdir(parents=True, exist_ok=True)
    gguf = gguf or gguf_of(name, folder)
    # One step behind the longest that is measured, in whole pages of any size.
    context = -(-(max(options.prompt, *options.contexts) + options.tokens + 2) // 256) * 256
    result = {"name": name, "gguf_bytes": gguf.stat().st_size, "context": context, "compile": {}, "speeds": {},
              "left_out": {}, "same_tokens": {}, "first_token_seconds": {}, "peak_bytes": {}}
    onnx, plans, makers = onnx_of(gguf, folder), {}, {}
    for activations in options.activations:
        files = decoders.Files(gguf, onnx, folder / f"{activations}.stint")
        compiled(files, activations, context, result)
        plans[f"stint {activations}"] = files.plan
        makers[f"stint {activations}"] = lambda threads, context, files=files: decoders.Stint(files, threads, context)
    for peer in peers:
        makers[peer] = lambda threads, context, peer=peer: decoders.ENGINES[peer](files, threads, context)
    result["bytes_per_token"] = bytes_read(next(iter(plans.values())))
    for threads in options.threads:
        result["speeds"][str(threads)] = speeds(makers, threads, context, result)
        seconds, peak = first_tokens(files, plans, peers, threads, context, result)
        result["first_token_seconds"][str(threads)] = seconds
        result["peak_bytes"] = {key: max(value, result["peak_bytes"].get(key, 0)) for key, value in peak.items()}
    return result


def bytes_read(plan):
    """What one token reads: {"weights": bytes, "position": bytes of keys and values for each position before it}"""
    import generator
    model = generator.Generator(plan)
    found = {"weights": model.model.memory()["weights"],
             "position": model.model.decoder.page_bytes // model.model.decoder.page_size}
    model.close()
    return found


def find_peers(wanted):
    """Peers that can be installed; reasons for the others."""
    peers, reasons = [], {}
    for peer in wanted:
        try:
            decoders.need(peer)
            __import__(decoders.MODULES[peer])
            peers.append(peer)
        except (environment.Missing, ImportError, OSError, RuntimeError) as error:
            reasons[peer] = f"can't be installed: {error}"
    return peers, reasons


def parse(arguments):
    parser = argparse.ArgumentParser(prog="stint-bench generate", description="Measures text generation.")
    parser.add_argument("--models", help=f"of {', '.join(KNOWN)} (default: all)")
    parser.add_argument("--gguf", type=pathlib.Path, help="a model of your own instead")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="write everything here")
    parser.add_argument("--peers", default="llama.cpp,onnxruntime-genai", help="or none")
    parser.add_argument("--activations", default="int8,f32", help="what stint multiplies weights with")
    parser.add_argument("--prompt", type=int, default=512, metavar="TOKENS")
    parser.add_argument("--contexts", default="128,2048")
    parser.add_argument("--tokens", type=int, default=16, help="to generate in a round")
    parser.add_argument("--build", type=pathlib.Path, default=os.environ.get("STINT_BUILD") or ROOT / "build")
    result = parser.parse_args(arguments)
    result.build = pathlib.Path(result.build).resolve()
    os.environ["STINT_BUILD"] = str(result.build)
    cpus = len(os.sched_getaffinity(0))
    result.threads = [1, cpus] if cpus > 1 else [1]
    result.peers = [] if result.peers == "none" else result.peers.split(",")
    result.activations = result.activations.split(",")
    for peer in result.peers:
        if peer not in decoders.PEERS:
            parser.error(f"no peer '{peer}'; there are: {', '.join(decoders.PEERS)}")
    for kind in result.activations:
        if kind not in ("int8", "f32"):
            parser.error(f"--activations: no '{kind}'; there are: int8, f32")
    if result.gguf and result.models:
        parser.error("either --models or --gguf")
    result.models = (result.models or ",".join(KNOWN)).split(",")
    for name in result.models:
        if name not in KNOWN:
            parser.error(f"no model '{name}'; there are: {', '.join(KNOWN)}")
    try:
        result.contexts = [int(length) for length in result.contexts.split(",")]
    except ValueError:
        parser.error("--contexts: numbers, with commas between them")
    if min(result.rounds, result.prompt, result.tokens, *result.contexts) < 1:
        parser.error("--rounds, --prompt, --tokens and --contexts are at least 1")
    if result.gguf and not result.gguf.is_file():
        parser.error(f"{result.gguf} isn't there")
    return result


def main(arguments):
    global options
    options = parse(arguments)
    if not options.gguf:
        for name in options.models:  # before anything takes long
            if KNOWN[name]:
                gguf_of(name, None)
    try:
        environment.need_numpy()
    except environment.Missing as problem:
        print(f"stint-bench: {problem}", file=sys.stderr)
        return 4
    peers, reasons = find_peers(options.peers)
    result = {"machine": machine_limits(options.build), "threads": options.threads,
              "peers": {peer: decoders.PEERS[peer][0] for peer in peers}, "peers_left_out": reasons,
              "prompt": options.prompt, "contexts": options.contexts, "models": []}
    result["stint_run_bytes"] = (options.build / "bin" / "stint-run").stat().st_size
    for name in [options.gguf.stem] if options.gguf else options.models:
        print(f"stint-bench: {name}", file=sys.stderr, flush=True)
        result["models"].append(measure(name, options.gguf, peers))
    again = machine_limits(options.build)
    result["machine"] = {key: max(value, again[key]) for key, value in result["machine"].items()}
    print(report.generation(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0
