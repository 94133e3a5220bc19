"""Machine code taken out of a plan and disassembled: each variant has the
instructions it is named for. That is all that can be said of a variant which
neither this machine nor qemu executes.
"""
import re
import shutil

import support

# machine: (object format, triple)
FORMATS = {1: ("elf64-x86-64", "x86_64"), 2: ("elf64-littleaarch64", "aarch64")}
# What a family's variants must show in a network of convolutions: the vector
# registers of their width, and fused multiply-add where they have it.
MUST = {
    "v2": [r"mulps\s", r"addps\s"],
    "v3": [r"vfmadd\w+ps\s.*%ymm"],
    "v4": [r"vfmadd\w+ps\s.*%zmm"],
    "neon": [r"fmla\s+v\d+\.4s"],
}
# What multiplies numbers of 8 bits in a model of block weights.
MUST_INTEGERS = {"v2": "pmaddwd", "v3": "vpmaddubsw", "v4": "vpmaddubsw", "vnni": "vpdpbusd.*%zmm",
                 "neon": r"smull2?\s", "dotprod": r"sdot\s", "i8mm": r"smmla\s"}
MUST_NOT = {"v2": r"%ymm|%zmm|vfmadd", "v3": r"%zmm|%k[0-7]"}


def disassemble(code, machine, name):
    objcopy, objdump = "llvm-objcopy-19", "llvm-objdump-19"
    if not shutil.which(objdump):
        raise support.Skipped(f"no {objdump} here")
    folder = support.folder("instructions")
    blob, wrapped = folder / f"{name}.bin", folder / f"{name}.o"
    blob.write_bytes(code)
    form, triple = FORMATS[machine]
    support.expect(support.run([objcopy, "-I", "binary", "-O", form, "--rename-section", ".data=.text,code",
                                blob, wrapped]), 0)
    done = support.run([objdump, "-d", f"--triple={triple}", "--mattr=+all" if machine == 2 else
                        "--x86-asm-syntax=att", "--no-show-raw-insn", wrapped], timeout=300)
    support.expect(done, 0)
    return done.stdout.decode()


def rules_for(name, machine):
    if machine == 2:
        return MUST["neon"], None
    level = re.search(r"v[234]", name)
    assert level, f"no rule for variant {name}"
    return MUST[level[0]], MUST_NOT.get(level[0])


def until_return(text, entries):
    """The lines of each kernel from its entry to the first return."""
    lines = {int(m[1], 16): m[2] for m in re.finditer(r"^\s*([0-9a-f]+):\s+(.*)$", text, re.MULTILINE)}
    places = sorted(lines)
    for entry in entries:
        for place in places:
            if place < entry:
                continue
            yield lines[place]
            if re.match(r"ret", lines[place]):
                break


def instructions(model):
    def test():
        found = []
        for name, machine, code, entries in support.PlanFile(support.real_plan(model)).variants():
            text = disassemble(code, machine, name)
            must, must_not = rules_for(name, machine)
            for pattern in must:
                assert re.search(pattern, text), f"variant {name} has no {pattern}"
            if must_not:
                bad = [line for line in until_return(text, entries) if re.search(must_not, line)]
                assert not bad, f"variant {name} uses {bad[:3]}"
            found.append(name)
        assert len(found) == 6, f"variants {found}"
        return ", ".join(found)
    return test


def integers():
    """Variants that are there for block weights alone are in a plan that has them, with their instructions."""
    import test_block_weights
    found = {name: disassemble(code, machine, name)
             for name, machine, code, _ in support.PlanFile(test_block_weights.plan("int8").path).variants()}
    assert found.keys() == MUST_INTEGERS.keys(), f"variants {', '.join(found)}"
    for name, text in found.items():
        assert re.search(MUST_INTEGERS[name], text), f"variant {name} has no {MUST_INTEGERS[name]}"
    return ", ".join(found)


def no_duplicates():
    """One set of weights serves all variants of both families."""
    plan = support.PlanFile(support.real_plan("open-nsfw"))
    weights = sum(size for kind, _, size in plan.sections if kind == 2)
    model = (support.MODELS / "open-nsfw.onnx").stat().st_size
    assert weights < 1.15 * model, f"{weights} bytes of weights for a model of {model}"
    return f"weights {weights} bytes, model {model}"


def tests():
    for model in support.CASES:
        if model != "ppocr-v2-cls":
            yield f"{model}/variants", instructions(model)
    yield "block-weights/variants", integers
    yield "one-set-of-weights", no_duplicates
