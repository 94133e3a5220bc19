"""Real models against ONNX Runtime's answers, for every variant that this
machine or qemu can execute, at several shapes; bits for any number of threads;
bytes of the plan for every compilation.
"""
import filecmp
import math
import pathlib

import support


def compare(name, case, command, label):
    def test():
        error = support.compare(support.answer(command(), name, case, label), name, case)
        return f"differs by {error:.1e}"
    return test


def variants(name, machine):
    return [variant[0] for variant in support.PlanFile(support.real_plan(name)).variants()
            if variant[1] == machine]


def each_variant(name, case, machine):
    """Every variant that can be executed, forced by name."""
    def test():
        worst, ran, left = 0.0, [], []
        program = [support.RUN] if machine == 1 else support.qemu("max")
        names = variants(name, machine)
        assert len(names) >= 3, f"the plan has only {names}"
        for variant in names:
            if support.run([*program, support.real_plan(name), "--info", "--variant", variant]).returncode == 3:
                left.append(variant)
                continue
            paths = support.answer(program, name, case, variant, "--variant", variant)
            worst = max(worst, support.compare(paths, name, case))
            ran.append(variant)
        # Every x86-64 machine of today runs the first two; qemu's "max" all of AArch64's.
        assert len(ran) >= (2 if machine == 1 else len(names)), f"only {ran} ran, {left} were refused"
        return f"{', '.join(ran)} differ by at most {worst:.1e}" + (f"; not on this machine: {left}" if left else "")
    return test


def threads(name, case):
    def test():
        first = None
        for count in (1, 2, 3, 8):
            paths = support.run_case([support.RUN], name, case, f"threads{count}", "--threads", count)
            first = first or paths
            for one, many in zip(first, paths):
                assert filecmp.cmp(one, many, shallow=False), f"{count} threads give other bits than one"
    return test


def neighbours(name, alone, together, index):
    """An element of a batch has the bits it has alone."""
    def test():
        outs = []
        for case in (alone, together):
            case, = (c for c in support.CASES[name]["cases"] if c["name"] == case)
            path = support.run_case([support.RUN], name, case, "neighbour")[-1]
            outs.append(support.tensors.read_npy(path)[1])
        size = len(outs[0])
        assert outs[0] == outs[1][index * size:(index + 1) * size], "the batch changes an element's bits"
    return test


def same_bytes(name):
    def test():
        model = support.CASES[name]
        plan, again = support.real_plan(name), support.folder("plans") / f"{name}-again.stint"
        support.expect(support.compile_model(support.MODELS / model["file"], again, "--target",
                                             support.BOTH, *support.dim_flags(model)), 0)
        assert filecmp.cmp(plan, again, shallow=False), "two compilations gave different bytes"
    return test


def verified(name):
    def test():
        case = support.CASES[name]["cases"][0]
        for when in ("full", "first-use"):
            support.expect(support.run([support.RUN, support.real_plan(name), "--verify", when,
                                        *support.input_flags(name, case)]), 0, "argmax")
    return test


def state_outside(name, frames):
    """The state as an input and an output, the sample rate an input too, so that Ifs stay: a process for each
    frame, the state in files between them."""
    def test():
        model, case = support.CASES[name], support.CASES[name]["cases"][0]
        if not pathlib.Path(case["recording"]).is_file():
            raise support.Skipped(f"no {case['recording']} (Debian's pocketsphinx-testdata)")
        plan = support.folder("plans") / f"{name}-state-outside.stint"
        flags = support.dim_flags({**model, "state": {}, "constants": {}})
        support.expect(support.compile_model(support.MODELS / model["file"], plan, *flags), 0)
        (state, next_state), = model["state"].items()
        frame, first, old, new = (support.folder("outputs") / f"{name}-{part}.npy"
                                  for part in ("frame", "first", "old", "new"))
        shape = model["state-shape"]
        support.tensors.write_npy(old, shape, support.tensors.array.array("f", bytes(4 * math.prod(shape))))
        constants = []
        for constant, number in model["constants"].items():
            path = support.folder("inputs") / f"{constant}-{number}.npy"
            support.tensors.write_npy(path, (), support.tensors.array.array("q", [number]))
            constants += ["--input", f"{constant}={path}"]
        wanted = support.tensors.read_npy(support.cases.outputs(model, case)[0][1])[1]
        worst = 0.0
        for number, tensor in zip(range(frames), support.cases.frames(model, case["recording"])):
            support.tensors.write_npy(frame, *tensor)
            support.expect(support.run([support.RUN, plan, "--input", f"input={frame}", "--input", f"{state}={old}",
                                        *constants, "--output", f"output={first}", "--output", f"{next_state}={new}"]), 0)
            worst = max(worst, abs(support.tensors.read_npy(first)[1][0] - wanted[number]))
            old, new = new, old
        assert worst <= support.TOLERANCE, f"differs by {worst:.2e}"
        return f"differs by {worst:.1e}"
    return test


def twins():
    """Two spellings of one model, with Ifs and without, hear the same in a recording."""
    def test():
        heard = []
        for name in ("silero-vad-v6", "silero-vad-v6-ifless"):
            paths = support.answer([support.RUN], name, support.CASES[name]["cases"][0], "twin")
            heard.append(support.tensors.read_npy(paths[0])[1])
        error = max(abs(a - b) for a, b in zip(*heard, strict=True))
        assert error <= support.TOLERANCE, f"the twins differ by {error:.2e}"
        return f"differ by {error:.1e}"
    return test


def tests():
    for name, model in support.CASES.items():
        emulated = [case for case in model["cases"] if case.get("emulate", True)]
        for case in model["cases"]:
            yield f"{case['name']}/x86-64", compare(name, case, lambda: [support.RUN], "x86")
        for cpu in ("cortex-a53", "cortex-a76", "max"):
            for case in emulated if cpu == "max" else emulated[:1]:
                yield (f"{case['name']}/aarch64-{cpu}",
                       compare(name, case, lambda cpu=cpu: support.qemu(cpu), f"aarch64-{cpu}"))
        yield f"{name}/x86-64-variants", each_variant(name, model["cases"][0], 1)
        yield f"{name}/aarch64-variants", each_variant(name, model["cases"][0], 2)
        yield f"{name}/same-bytes", same_bytes(name)
        if model["input"] != "speech":
            yield f"{name}/threads", threads(name, model["cases"][1])
            yield f"{name}/verify", verified(name)
    yield "open-nsfw/neighbours", neighbours("open-nsfw", "nsfw-1", "nsfw-2", 1)
    yield "silero-vad-v5/state-outside", state_outside("silero-vad-v5", 20)
    yield "silero-vad-v6/twins", twins()
