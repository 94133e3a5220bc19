"""stint-bench's result as tables (Markdown, aligned, so that docs can hold them)."""


def table(heads, rows):
    """The first column to the left, the others to the right."""
    cells = [heads, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]

    def line(row):
        parts = [cell.ljust(width) if not column else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        return "| " + " | ".join(parts) + " |"

    rule = "|" + "|".join("-" * (width + 2) if not column else "-" * (width + 1) + ":"
                          for column, width in enumerate(widths)) + "|"
    return "\n".join([line(heads), rule, *map(line, rows)])


def milliseconds(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.1f}"


def megabytes(size):
    return "-" if size is None else f"{size / 1e6:.2f}" if size < 1e7 else f"{size / 1e6:.0f}"


def latency(result):
    peers = list(result["peers"])
    heads = ["latency, ms", "threads", "stint"]
    for peer in peers:
        heads += [peer, "ratio", "of least"]
    rows = []
    for model in result["models"]:
        for threads, found in model["latency_seconds"].items():
            ours = found["stint"]
            row = [model["name"], threads, milliseconds(ours["median"])]
            for peer in peers:
                theirs = found.get(peer)
                row += [milliseconds(theirs["median"]), f"{ours['median'] / theirs['median']:.2f}",
                        f"{ours['least'] / theirs['least']:.2f}"] if theirs else ["-", "-", "-"]
            rows.append(row)
    return table(heads, rows)


def processes(result):
    peers = list(result["peers"])
    heads = ["start and memory", "open, ms", "first result, ms", *(f"{peer}" for peer in peers), "peak, MB",
             *(f"{peer}" for peer in peers), "arena, KiB", "over bound"]
    rows = []
    for model in result["models"]:
        cold, peak, memory = model["cold_start_seconds"], model["peak_bytes"], model["memory"]
        bound = memory["lower_bound"]
        rows.append([model["name"], milliseconds(model["open_seconds"]), milliseconds(cold["stint"]),
                     *(milliseconds(cold.get(peer)) for peer in peers), megabytes(peak["stint"]),
                     *(megabytes(peak.get(peer)) for peer in peers), f"{memory['arena'] / 1024:.0f}",
                     f"{memory['arena'] / bound:.3f}" if bound else "-"])
    return table(heads, rows)


def compiling(result):
    heads = ["compiling", "model, MB", "plan, MB", "seconds", "peak, MB", "limit, MB"]
    return table(heads, [[model["name"], megabytes(model["model_bytes"]), megabytes(model["plan_bytes"]),
                          f"{model['compile']['seconds']:.2f}", megabytes(model["compile"]["peak_bytes"]),
                          megabytes(2 * model["model_bytes"] + 300_000_000)] for model in result["models"]])


def kernels(result):
    heads = ["slowest kernels, one thread", "ms", "share", "GFLOP/s", "dispatches", "first node"]
    rows = []
    for model in result["models"]:
        whole = sum(kernel["seconds"] for kernel in model["kernels"])
        for kernel in model["kernels"][:result["kernels_shown"]]:
            rows.append([f"{model['name']}: {kernel['name']}", milliseconds(kernel["seconds"]),
                         f"{kernel['seconds'] / whole:.0%}",
                         f"{kernel['flops'] / kernel['seconds'] * 1e-9:.0f}" if kernel["flops"] else "-",
                         str(kernel["dispatches"]), kernel["nodes"].split(",")[0].rpartition(" ")[0][-40:]])
    return table(heads, rows)


def text(result):
    lines = [machine_line(result),
             f"stint-run: {result['stint_run_bytes']} bytes; runtime core: {result['core_lines']} lines",
             "peers: " + (", ".join(result["peers"].values()) or "none")]
    lines += [f"left out: {peer}: {reason}" for peer, reason in result["peers_left_out"].items()]
    for model in result["models"]:
        lines += [f"left out: {peer} of {model['name']}: {reason}" for peer, reason in model["left_out"].items()]
        if "difference" in model:
            lines.append(f"{model['name']}: differs from the first peer by {model['difference']:.1e} of the largest value")
    parts = ["\n".join(lines), latency(result), processes(result), compiling(result)]
    if result["kernels_shown"]:
        parts.append(kernels(result))
    return "\n\n".join(parts)


def machine_line(result):
    machine = result["machine"]
    return (f"machine: {machine['threads']} threads; FMA of f32 {machine['fma_gflops_one']:.0f} GFLOP/s on one, "
            f"{machine['fma_gflops_all']:.0f} on all; reads {machine['read_gb_s_one']:.1f} GB/s on one, "
            f"{machine['read_gb_s_all']:.1f} on all")


def generating(result):
    """A row for each model, number of threads and kind of work. Ratios are those of the first stint."""
    engines = [*result["models"][0]["compile"], *result["peers"]]
    ours = engines[0]
    heads = ["generation", "threads"]
    for engine in engines:
        heads += [engine] if engine.startswith("stint") else [engine, "ratio"]
    heads += ["MB a token", "of bandwidth"]
    rows = []
    for model in result["models"]:
        for threads, kinds in model["speeds"].items():
            bandwidth = result["machine"]["read_gb_s_one" if threads == "1" else "read_gb_s_all"] * 1e9
            for kind, found in kinds.items():
                name, _, length = kind.partition(" ")
                label = f"prefill of {result['prompt']}, tokens/s" if name == "prefill" else f"at {length}, ms a token"
                row = [f"{model['name']}: {label}", threads]
                for engine in engines:
                    value = found.get(engine)
                    shown = "-" if value is None else f"{result['prompt'] / value:.1f}" if name == "prefill" else \
                        milliseconds(value)
                    row += [shown] if engine.startswith("stint") else \
                        [shown, "-" if value is None else f"{found[ours] / value:.2f}"]
                if name == "prefill":
                    row += ["-", "-"]
                else:
                    size = model["bytes_per_token"]["weights"] + int(length) * model["bytes_per_token"]["position"]
                    row += [megabytes(size), f"{size / found[ours] / bandwidth:.0%}"]
                rows.append(row)
    return table(heads, rows)


def beginning(result):
    engines = [*result["models"][0]["compile"], *result["peers"]]
    heads = ["first token, ms", "threads", *engines, *(f"peak, MB: {engine}" for engine in engines)]
    rows = []
    for model in result["models"]:
        for threads, found in model["first_token_seconds"].items():
            rows.append([model["name"], threads, *(milliseconds(found.get(engine)) for engine in engines),
                         *(megabytes(model["peak_bytes"].get(engine)) for engine in engines)])
    return table(heads, rows)


def compiling_decoders(result):
    heads = ["compiling", "GGUF, MB", "plan, MB", "seconds", "peak, MB"]
    return table(heads, [[f"{model['name']}: {name}", megabytes(model["gguf_bytes"]), megabytes(found["plan_bytes"]),
                          f"{found['seconds']:.2f}", megabytes(found["peak_bytes"])]
                         for model in result["models"] for name, found in model["compile"].items()])


def generation(result):
    lines = [machine_line(result), f"stint-run: {result['stint_run_bytes']} bytes",
             "peers: " + (", ".join(result["peers"].values()) or "none")]
    lines += [f"left out: {peer}: {reason}" for peer, reason in result["peers_left_out"].items()]
    for model in result["models"]:
        lines += [f"left out: {peer} of {model['name']}: {reason}" for peer, reason in model["left_out"].items()]
        for engine, cases in model["same_tokens"].items():
            first = next(iter(model["compile"]))
            lines.append(f"{model['name']}: tokens that {engine} has in common with {first}: " + "; ".join(
                f"{same} of {count} ({case})" for case, (same, count) in cases.items()))
    return "\n\n".join(["\n".join(lines), generating(result), beginning(result), compiling_decoders(result)])
