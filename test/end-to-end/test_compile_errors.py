"""What can be wrong when compiling: the exit code and a message that helps."""
import json
import os
import random

import onnxfile as onnx
import support

FOLDER = support.folder("compile-errors")


def written(name, data):
    path = FOLDER / name
    path.write_bytes(data)
    return path


def refused(data, code, *words, flags=(), name=None):
    """A model that must be refused; nothing may be left where the plan would be."""
    def test():
        model = written(name or "model.onnx", data() if callable(data) else data)
        plan = FOLDER / "refused.stint"
        plan.unlink(missing_ok=True)
        support.expect(support.compile_model(model, plan, *flags, timeout=60), code, *words)
        left = [path.name for path in FOLDER.glob("refused.stint*")]
        assert not left, f"left behind: {left}"
    return test


def one_node(node, dims=(2, 3), opset=13, out=(2, 3), domains=(), initializers=(), kind=onnx.FLOAT):
    return onnx.model([node], [onnx.value("x", dims, kind)], [onnx.value("y", out, kind)],
                      opset=opset, domains=domains, initializers=initializers)


def truncated():
    """Cut at every length of a small model, and at random lengths of a real one."""
    whole = onnx.small_model()
    plan = FOLDER / "truncated.stint"
    for size in range(0, len(whole), 1 if len(whole) < 120 else 7):
        done = support.compile_model(written("truncated.onnx", whole[:size]), plan, "--dim", "n=1..4", timeout=60)
        # Cut between two fields, the rest may be a model by itself, but not this one.
        assert done.returncode in (1, 3, 4) and done.text.strip(), f"{size} bytes: exit code {done.returncode}"
    support.expect(support.compile_model(written("truncated.onnx", whole[:len(whole) // 2]), plan,
                                         "--dim", "n=1..4"), 4, "truncated.onnx")


def flipped():
    """Random bytes of a model changed: refused or compiled, never a crash."""
    whole, plan = onnx.small_model(), FOLDER / "flipped.stint"
    numbers = random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(numbers.choice((1, 1, 2, 5))):
            data[numbers.randrange(len(data))] = numbers.randrange(256)
        done = support.compile_model(written("flipped.onnx", bytes(data)), plan, "--dim", "n=1..4", timeout=60)
        assert done.returncode in (0, 1, 2, 3, 4), done.text


def fold_too_long():
    """2^40 additions of a constant are not done by the compiler."""
    model = written("cos40.onnx", onnx.model(
        [onnx.node("ConstantOfShape", ["s"], ["c"]), onnx.node("ReduceSum", ["c"], ["y"], keepdims=0)], [],
        [onnx.value("y", [])], [onnx.tensor("s", [1], [1 << 40], onnx.INT64)]))
    support.expect(support.compile_model(model, FOLDER / "cos40.stint", timeout=60), 0)


def profile_lost():
    """A memory layout that would save next to nothing is left out, and that is said."""
    model = written("lost.onnx", onnx.model(
        [onnx.node("MatMul", ["x", "x"], ["m"]), onnx.node("Softmax", ["m"], ["y"])],
        [onnx.value("x", ["n", "n"])], [onnx.value("y", ["n", "n"])]))
    plan = FOLDER / "lost.stint"
    done = support.compile_model(model, plan, "--dim", "n=1..256", "--profile", "n=255", "--profile", "n=16")
    support.expect(done, 0, "no memory layout of its own for n=255")
    support.expect(support.run([support.STINT, "inspect", plan]), 0, "memory for n<=256", "memory for n<=16")


def truncated_real():
    whole = (support.MODELS / "ppocr-v4-rec.onnx").read_bytes()
    numbers = random.Random(2)
    for _ in range(5):
        done = support.compile_model(written("cut.onnx", whole[:numbers.randrange(len(whole))]),
                                     FOLDER / "cut.stint",
                                     *support.dim_flags(support.CASES["ppocr-v4-rec"]))
        support.expect(done, 4, "cut.onnx")
    (FOLDER / "cut.onnx").unlink()


def external(entry, code, *words):
    weight = onnx.external_tensor("w", [4], **entry)
    data = onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [4])],
                      [onnx.value("y", [4])], [weight])

    def test():
        (FOLDER / "short.bin").write_bytes(bytes(8))
        refused(data, code, *words)()
    return test


def external_works():
    (FOLDER / "good.bin").write_bytes(bytes(16) + b"\0\0\x80\x3f" * 4)
    weight = onnx.external_tensor("w", [4], "good.bin", 16, 16)
    model = written("external.onnx", onnx.model([onnx.node("Add", ["x", "w"], ["y"])],
                                                [onnx.value("x", [4])], [onnx.value("y", [4])], [weight]))
    plan, given, out = FOLDER / "external.stint", FOLDER / "x.npy", FOLDER / "y.npy"
    support.expect(support.compile_model(model, plan, "--target", "host"), 0)
    support.tensors.write_npy(given, (4,), support.tensors.array.array("f", [1, 2, 3, 4]))
    support.expect(support.run([support.RUN, plan, "--input", given, "--output", out]), 0)
    assert list(support.tensors.read_npy(out)[1]) == [2, 3, 4, 5]


def unsupported_all():
    """Every unsupported node is listed, not just the first."""
    nodes = [onnx.node("NoSuchOperator", ["x"], ["a"], name="first_bad"),
             onnx.node("Relu", ["a"], ["b"]),
             onnx.node("Special", ["b"], ["c"], name="second_bad", domain="com.example"),
             onnx.node("StringNormalizer", ["c"], ["y"], name="third_bad")]
    data = onnx.model(nodes, [onnx.value("x", [2])], [onnx.value("y", [2])], domains=[("com.example", 1)])
    model = written("unsupported.onnx", data)
    for command in ([support.STINT, "compile", model, "-o", FOLDER / "refused.stint"],
                    [support.STINT, "explain", model]):
        done = support.run(command, timeout=60)
        support.expect(done, 3, "NoSuchOperator", "first_bad", "Special", "com.example", "second_bad",
                       "StringNormalizer", "third_bad")


def unwritable():
    model = written("small.onnx", onnx.small_model())
    for place in (FOLDER / "no" / "such" / "folder" / "x.stint", "/proc/x.stint"):
        support.expect(support.compile_model(model, place, "--dim", "n=1..4"), 1, "x.stint")
    directory = FOLDER / "a-directory"
    directory.mkdir(exist_ok=True)
    support.expect(support.compile_model(model, directory, "--dim", "n=1..4"), 1, "a-directory")


def full_disk():
    if not os.path.exists("/dev/full"):
        raise support.Skipped("no /dev/full here")
    model = written("small.onnx", onnx.small_model())
    done = support.compile_model(model, "/dev/full", "--dim", "n=1..4")
    assert done.returncode == 1, done.text


def max_ram():
    model = written("small.onnx", onnx.small_model())
    plan = FOLDER / "refused.stint"
    support.expect(support.compile_model(model, plan, "--dim", "n=1..4", "--max-ram", "64"), 1, "max-ram")
    assert not plan.exists()
    support.expect(support.compile_model(model, FOLDER / "fits.stint", "--dim", "n=1..4", "--max-ram",
                                         "64000000"), 0)


# A chat template, exit code, words of the message.
TEMPLATES = {
    "unclosed-tag": ("a\n{{ messages", 4, ["line 2", "'}}' is missing"]),
    "unclosed-loop": ("{% for m in messages %}{{ m.content }}", 4, ["'{% endfor %}' is missing"]),
    "closes-nothing": ("\n\n{% endfor %}", 4, ["line 3", "'endfor' closes nothing"]),
    "deep": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", 4, ["line 1", "too deep"]),
    "unknown-tag": ("x\n{% call f() %}{% endcall %}", 3, ["line 2", "call"]),
    "import": ("{% import 'x' as y %}", 3, ["line 1", "import"]),
    "unknown-filter": ("\n{{ messages | frobnicate }}", 3, ["line 2", "'frobnicate'"]),
    "unknown-function": ("{% for m in messages %}{{ m.content }}{{ now('%d') }}{% endfor %}", 3, ["'now' is undefined"]),
    "macro-calls-itself": ("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", 3, ["macro"]),
    "endless": ("{% for i in range(1000000000) %}{% for j in range(1000000000) %}{% endfor %}{% endfor %}", 3,
                ["runs too long"]),
    "raises": ("{{ raise_exception('never') }}", 3, ["no prompt for an answer", "never"]),
    "empty": ("", 3, ["no prompt for an answer"]),
    "not-utf8": ("\udcff\udcfe{{ x }}", 3, ["no prompt for an answer"]),
}


def template(name):
    content, code, words = TEMPLATES[name]

    def test():
        tokenizer = written("template-tokenizer.json", json.dumps({
            "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}).encode())
        path = written(f"{name}.jinja", content.encode("utf-8", "surrogateescape"))
        refused(onnx.small_model(), code, path.name, *words,
                flags=["--dim", "n=1..4", "--tokenizer", tokenizer, "--chat-template", path])()
    return test


def usage(*arguments, words=()):
    def test():
        written("small.onnx", onnx.small_model())
        support.expect(support.run([support.STINT, *arguments], cwd=FOLDER), 2, *words)
    return test


def own_model():
    """Nothing that is read is written over."""
    model = written("own.onnx", onnx.small_model())
    before = model.read_bytes()
    link = FOLDER / "own-link.stint"
    link.unlink(missing_ok=True)
    link.symlink_to(model)
    for place in (model, link):
        support.expect(support.compile_model(model, place, "--dim", "n=1..4"), 2, "destroy")
    for flag in ("--report", "--json"):
        support.expect(support.compile_model(model, FOLDER / "x.stint", "--dim", "n=1..4", flag, model), 2, "destroy")
        support.expect(support.compile_model(model, FOLDER / "x.stint", "--dim", "n=1..4", flag, FOLDER / "x.stint"),
                       2, "two things")
    assert model.read_bytes() == before


def dash():
    model = written("small.onnx", onnx.small_model())
    command = [support.STINT, "compile", model, "-o", "-", "--dim", "n=1..4"]
    support.expect(support.run([*command, "--emit", "graph"], cwd=FOLDER), 0, "graph.matmul")
    support.expect(support.run(command, cwd=FOLDER), 2, "standard output")
    assert not (FOLDER / "-").exists()


def endless():
    support.expect(support.compile_model("/dev/zero", FOLDER / "refused.stint"), 1, "not a regular file")


def missing_file():
    support.expect(support.compile_model(FOLDER / "nowhere.onnx", FOLDER / "refused.stint"), 1, "nowhere.onnx")


def tests():
    relu = onnx.node("Relu", ["x"], ["y"])
    yield "not-onnx", refused(b"this is a text file, not a model\n" * 20, 4, "model.onnx")
    yield "empty-file", refused(b"", 4, "model.onnx")
    yield "zeros", refused(bytes(4096), 4, "model.onnx")
    yield "no-graph", refused(onnx.integer(1, 8), 4)
    yield "endless-length", refused(onnx.varint(7 << 3 | 2) + b"\xff" * 9 + b"\x01", 4)
    yield "deep-nesting", refused(deep(), 4)
    yield "missing-file", missing_file
    yield "truncated", truncated
    yield "truncated-real", truncated_real
    yield "flipped", flipped
    yield "unknown-input", refused(one_node(onnx.node("Relu", ["nothing"], ["y"], name="lost")), 4, "nothing")
    yield "no-output", refused(onnx.model([relu], [onnx.value("x", [2])], [onnx.value("z", [2])]), 4, "z")
    yield "cycle", refused(onnx.model([onnx.node("Add", ["x", "b"], ["a"]), onnx.node("Relu", ["a"], ["b"])],
                                      [onnx.value("x", [2])], [onnx.value("b", [2])]), 4)
    yield "wrong-weight-size", refused(
        one_node(onnx.node("Add", ["x", "w"], ["y"]), initializers=[onnx.tensor("w", [3], bytes(8))]), 4, "w")
    yield "negative-dimension", refused(
        one_node(onnx.node("Add", ["x", "w"], ["y"]), initializers=[onnx.tensor("w", [-3], bytes(8))]), 4, "w")
    yield "shapes-disagree", refused(
        one_node(onnx.node("MatMul", ["x", "w"], ["y"], name="product"),
                 initializers=[onnx.tensor("w", [4, 3], bytes(48))]), 4, "product")
    yield "wrong-attribute-type", refused(
        onnx.model([onnx.node("Softmax", ["x"], ["y"], name="soft", axis=1.5)], [onnx.value("x", [2, 3])],
                   [onnx.value("y", [2, 3])]), 4, "soft", "axis", "integer")
    yield "value-made-twice", refused(
        onnx.model([onnx.node("Relu", ["x"], ["y"]), onnx.node("Neg", ["x"], ["y"], name="again")],
                   [onnx.value("x", [2])], [onnx.value("y", [2])]), 4, "again", "'y'")
    yield "window-too-large", refused(
        onnx.model([onnx.node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[3, 3])],
                   [onnx.value("x", [1, 1, 2, 2])], [onnx.value("y", [1, 1, 0, 0])]), 4, "pool", "window")
    yield "index-outside", refused(
        onnx.model([onnx.node("Gather", ["x", "i"], ["y"], name="pick")], [onnx.value("x", [2, 3])],
                   [onnx.value("y", [2, 3])], [onnx.tensor("i", [2], [1, -9], onnx.INT64)]), 4, "pick", "-9")
    yield "external-missing", external({"location": "absent.bin"}, 1, "absent.bin", "w")
    yield "external-short", external({"location": "short.bin"}, 4, "short.bin")
    yield "external-escape", external({"location": "../../../../etc/passwd"}, 4, "etc/passwd")
    yield "external-absolute", external({"location": "/etc/passwd"}, 4, "etc/passwd")
    yield "external-overflow", external({"location": "short.bin", "offset": (1 << 63) - 8, "length": 16}, 4)
    yield "external-works", external_works
    yield "unsupported-listed", unsupported_all
    yield "opset-too-new", refused(one_node(relu, opset=9999), 3, "9999")
    yield "dynamic-without-dim", refused(onnx.small_model(), 2, "--dim", "n=")
    yield "dim-unknown", refused(onnx.small_model(), 2, "zebra", flags=["--dim", "n=1..4", "--dim", "zebra=3"])
    yield "dim-not-a-number", refused(onnx.small_model(), 2, "n=", flags=["--dim", "n=many"])
    yield "dim-backwards", refused(onnx.small_model(), 2, "n=", flags=["--dim", "n=4..1"])
    yield "profile-twice", refused(onnx.small_model(), 2, "given twice",
                                   flags=["--dim", "n=1..8", "--profile", "n=4,n=5"])
    yield "profile-as-before", refused(onnx.small_model(), 2, "stint: --profile 'n=4' is given twice",
                                       flags=["--dim", "n=1..8", "--profile", "n=4", "--profile", "n=4"])
    yield "problems-begin-alike", refused(one_node(onnx.node("NotThere", ["x"], ["y"])), 3,
                                          "stint: unsupported: NotThere")
    yield "constant-too-large", refused(
        onnx.model([onnx.node("Expand", ["c", "s"], ["y"], name="grow")], [], [onnx.value("y", [1 << 34])],
                   [onnx.tensor("c", [1], [1.0]), onnx.tensor("s", [1], [1 << 34], onnx.INT64)]),
        3, "grow", "64.0 GiB")
    yield "fold-too-long", fold_too_long
    yield "profile-lost", profile_lost
    yield "target-unknown", refused(onnx.small_model(), 2, "z80",
                                    flags=["--dim", "n=1..4", "--target", "z80-cpm"])
    yield "unwritable", unwritable
    yield "full-disk", full_disk
    yield "own-model", own_model
    yield "dash", dash
    yield "endless-file", endless
    yield "seed-negative", refused(onnx.small_model(), 2, "--seed", flags=["--dim", "n=1..4", "--seed=-1"])
    yield "cpu-unknown", refused(onnx.small_model(), 2, "v3", flags=["--dim", "n=1..4", "--cpu", "v9"])
    yield "max-ram", max_ram
    for name in TEMPLATES:
        yield f"template-{name}", template(name)
    yield "no-arguments", usage()
    yield "unknown-command", usage("frob", words=["'frob'", "compile", "inspect"])
    yield "unknown-option", usage("compile", "small.onnx", "-o", "x.stint", "--frobnicate", words=["frobnicate"])
    yield "no-output-name", usage("compile", "small.onnx", "--dim", "n=1..4")


def deep():
    """Protobuf inside protobuf, ten thousand deep: subgraphs of subgraphs."""
    inner = b""
    for _ in range(3000):
        inner = onnx.chunk(1, onnx.chunk(5, onnx.chunk(6, inner)))  # graph.node.attribute.g
        if len(inner) > 1 << 20:
            break
    return onnx.integer(1, 8) + onnx.chunk(7, inner) + onnx.chunk(8, onnx.integer(2, 13))
