"""Real models against ONNX Runtime's answers, for every variant that this
machine or qemu can execute, at several shapes; bits for any number of threads;
bytes of the plan for every compilation.
"""
import filecmp

import support


def compare(name, case, command, label):
    def test():
        plan = support.real_plan(name)
        out = support.folder("outputs") / f"{case['name']}-{label}.npy"
        out.unlink(missing_ok=True)
        support.expect(support.run([*command(), plan, "--input", support.case_input(name, case),
                                    "--output", out], timeout=600), 0)
        golden = support.ROOT / "models" / "golden" / f"{case['name']}.npy.gz"
        error = support.difference(out, golden)
        assert error <= support.TOLERANCE, f"differs by {error:.2e} of the largest value"
        return f"differs by {error:.1e}"
    return test


def variants(name, machine):
    return [variant[0] for variant in support.PlanFile(support.real_plan(name)).variants()
            if variant[1] == machine]


def each_variant(name, case, machine):
    """Every variant that can be executed, forced by name."""
    def test():
        plan, worst, ran, left = support.real_plan(name), 0.0, [], []
        program = [support.RUN] if machine == 1 else support.qemu("max")
        golden = support.ROOT / "models" / "golden" / f"{case['name']}.npy.gz"
        names = variants(name, machine)
        assert len(names) >= 3, f"the plan has only {names}"
        for variant in names:
            out = support.folder("outputs") / f"{case['name']}-{variant}.npy"
            out.unlink(missing_ok=True)
            done = support.run([*program, plan, "--variant", variant, "--input",
                                support.case_input(name, case), "--output", out], timeout=600)
            if done.returncode == 3:
                left.append(variant)
                continue
            support.expect(done, 0)
            error = support.difference(out, golden)
            assert error <= support.TOLERANCE, f"{variant} differs by {error:.2e} of the largest value"
            worst = max(worst, error)
            ran.append(variant)
        # Every x86-64 machine of today runs the first two; qemu's "max" all of AArch64's.
        assert len(ran) >= (2 if machine == 1 else len(names)), f"only {ran} ran, {left} were refused"
        return f"{', '.join(ran)} differ by at most {worst:.1e}" + (f"; not on this machine: {left}" if left else "")
    return test


def threads(name, case):
    def test():
        plan, first = support.real_plan(name), None
        for count in (1, 2, 3, 8):
            out = support.folder("outputs") / f"{case['name']}-threads{count}.npy"
            support.expect(support.run([support.RUN, plan, "--threads", count, "--input",
                                        support.case_input(name, case), "--output", out]), 0)
            first = first or out
            assert filecmp.cmp(first, out, shallow=False), f"{count} threads give other bits than one"
    return test


def neighbours(name, alone, together, index):
    """An element of a batch has the bits it has alone."""
    def test():
        plan, outs = support.real_plan(name), []
        cases = {case["name"]: case for case in support.CASES[name]["cases"]}
        for case in (alone, together):
            out = support.folder("outputs") / f"{case}-neighbour.npy"
            support.expect(support.run([support.RUN, plan, "--input", support.case_input(name, cases[case]),
                                        "--output", out]), 0)
            outs.append(support.tensors.read_npy(out)[1])
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
            support.expect(support.run([support.RUN, support.real_plan(name), "--verify", when, "--input",
                                        support.case_input(name, case)]), 0, "argmax")
    return test


def tests():
    for name, model in support.CASES.items():
        for case in model["cases"]:
            yield f"{case['name']}/x86-64", compare(name, case, lambda: [support.RUN], "x86")
        for cpu in ("cortex-a53", "cortex-a76", "max"):
            cases = model["cases"] if cpu == "max" else model["cases"][:1]
            for case in cases:
                yield (f"{case['name']}/aarch64-{cpu}",
                       compare(name, case, lambda cpu=cpu: support.qemu(cpu), f"aarch64-{cpu}"))
        yield f"{name}/x86-64-variants", each_variant(name, model["cases"][0], 1)
        yield f"{name}/aarch64-variants", each_variant(name, model["cases"][0], 2)
        yield f"{name}/threads", threads(name, model["cases"][1])
        yield f"{name}/same-bytes", same_bytes(name)
        yield f"{name}/verify", verified(name)
    yield "open-nsfw/neighbours", neighbours("open-nsfw", "nsfw-1", "nsfw-2", 1)
