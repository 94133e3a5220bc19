"""Decoders that contradict themselves, and tokenizers that aren't understood: exit code and message say what is wrong,
at which node, whether the cache is to be the runtime's or not."""
import struct

import onnxfile as onnx
import support
from onnxfile import INT32, INT64

FOLDER = support.folder("decoder-errors")
VOCABULARY = 16


def grouped(heads=4, shared=2, size=8, query=None, key=None, past_heads=None, past_size=None, value_past=None,
            operands=7, **extra):
    """One GroupQueryAttention over rows of a table; what isn't given fits."""
    widths = {"q": query or heads * size, "k": key or shared * size, "v": key or shared * size}
    initializers = [onnx.tensor(name, [VOCABULARY, width], [.01 * (i % 7) for i in range(VOCABULARY * width)])
                    for name, width in widths.items()]
    initializers += [onnx.tensor("one", [1], [1], INT64), onnx.tensor("second", [], [1], INT64)]
    nodes = [onnx.node("Gather", [table, "input_ids"], [f"{table}s"]) for table in "qkv"]
    nodes += [onnx.node("ReduceSum", ["attention_mask", "one"], ["sums"], keepdims=0),
              onnx.node("Sub", ["sums", "one"], ["last"]), onnx.node("Cast", ["last"], ["lengths"], to=INT32),
              onnx.node("Shape", ["attention_mask"], ["shape"]), onnx.node("Gather", ["shape", "second"], ["whole"]),
              onnx.node("Cast", ["whole"], ["total"], to=INT32)]
    inputs = ["qs", "ks", "vs", "past_key_values.0.key", "past_key_values.0.value", "lengths", "total"][:operands]
    nodes.append(onnx.node("GroupQueryAttention", inputs, ["logits", "present.0.key", "present.0.value"],
                           name="layer0/attention", domain="com.microsoft", num_heads=heads, kv_num_heads=shared,
                           **extra))
    dims = {"key": past_heads or shared, "value": value_past or past_heads or shared}
    past = [onnx.value(f"past_key_values.0.{part}", ["b", dims[part], "p", past_size or size])
            for part in ("key", "value")]
    present = [onnx.value(f"present.0.{part}", ["b", shared, "n", size]) for part in ("key", "value")]
    return onnx.model(nodes, [onnx.value("input_ids", ["b", "s"], INT64),
                              onnx.value("attention_mask", ["b", "n"], INT64), *past],
                      [onnx.value("logits", ["b", "s", heads * size]), *present], initializers,
                      opset=21, domains=[("com.microsoft", 1)])


def attention(queries=4, keys=2, size=8, said=None, query=None, key=None, value=None, past_heads=None, past_size=None,
              value_past=None, apart=False):
    """One Attention of opset 23 with a past over rows of tables; what isn't given fits. Its operands have 3
    dimensions, or, `apart`, 4; `said` is kv_num_heads where that isn't how many there are."""
    widths = {"q": query or queries * size, "k": key or keys * size, "v": value or key or keys * size}
    initializers = [onnx.tensor(name, [VOCABULARY, width], [.01 * (i % 7) for i in range(VOCABULARY * width)])
                    for name, width in widths.items()]
    nodes = [onnx.node("Gather", [table, "input_ids"], [f"{table}s"]) for table in "qkv"]
    operands, y = ["qs", "ks", "vs"], "logits"
    heads = {"q_num_heads": queries, "kv_num_heads": keys if said is None else said}
    if apart:
        heads = {}
        for table, count in zip("qkv", (queries, keys, keys)):
            initializers.append(onnx.tensor(f"{table}-shape", [4], [0, 0, count, size], INT64))
            nodes += [onnx.node("Reshape", [f"{table}s", f"{table}-shape"], [f"{table}r"]),
                      onnx.node("Transpose", [f"{table}r"], [f"{table}t"], perm=[0, 2, 1, 3])]
        initializers.append(onnx.tensor("y-shape", [3], [0, 0, queries * size], INT64))
        operands, y = ["qt", "kt", "vt"], "apart"
    past = [f"past_key_values.0.{part}" for part in ("key", "value")]
    nodes.append(onnx.node("Attention", [*operands, "", *past], [y, "present.0.key", "present.0.value"],
                           name="layer0/attention", is_causal=1, **heads))
    if apart:
        nodes += [onnx.node("Transpose", ["apart"], ["rows"], perm=[0, 2, 1, 3]),
                  onnx.node("Reshape", ["rows", "y-shape"], ["logits"])]
    counts = [past_heads or keys, value_past or past_heads or keys]
    return onnx.model(
        nodes, [onnx.value("input_ids", ["b", "s"], INT64),
                *(onnx.value(name, ["b", count, "p", past_size or size]) for name, count in zip(past, counts))],
        [onnx.value("logits", ["b", "s", queries * size]),
         *(onnx.value(f"present.0.{part}", ["b", keys, "n", size]) for part in ("key", "value"))],
        initializers, opset=23)


# A model, and words of the message.
MODELS = {
    "heads-not-shared-evenly": (grouped(heads=4, shared=3, key=24), ["3"]),
    "no-heads": (grouped(heads=0, query=32), ["num_heads"]),
    "negative-heads": (grouped(heads=-4, query=32), ["num_heads"]),
    "no-heads-of-keys": (grouped(shared=0, key=16, past_heads=2), ["kv_num_heads"]),
    "many-heads": (grouped(heads=1 << 40, query=32), ["num_heads"]),
    "query-of-another-width": (grouped(query=36), ["36"]),
    "query-not-divisible": (grouped(heads=5, query=32, shared=1, key=8), ["5"]),
    "keys-of-another-width": (grouped(key=24), ["24"]),
    "past-with-other-heads": (grouped(past_heads=3), ["3"]),
    "past-of-other-size": (grouped(past_size=12), ["12"]),
    "values-with-other-heads": (grouped(value_past=3), ["3"]),
    "no-lengths": (grouped(operands=5), []),
    "no-window": (grouped(local_window_size=0), ["local_window_size"]),
    "negative-window": (grouped(local_window_size=-7), ["local_window_size"]),
    "past-not-shared-evenly": (attention(keys=3), ["3"]),
    "past-more-keys-than-queries": (attention(keys=8), ["4", "8"]),
    "past-negative-heads": (attention(queries=-4, query=32), ["-4"]),
    "past-many-heads": (attention(queries=1 << 40, query=32), ["num_heads"]),
    "past-query-not-divisible": (attention(queries=5, query=32, keys=1), ["32", "5 heads"]),
    "past-query-of-other-size": (attention(query=36), ["36"]),
    "past-keys-of-other-size": (attention(key=24), ["24"]),
    "past-values-of-other-size": (attention(value=24), ["24"]),
    "past-past-with-other-heads": (attention(past_heads=3), ["3"]),
    "past-past-of-other-size": (attention(past_size=12), ["12"]),
    "past-values-with-other-past": (attention(value_past=3), ["3"]),
    "past-apart-not-shared-evenly": (attention(keys=3, apart=True), ["3"]),
    "past-apart-past-with-other-heads": (attention(past_heads=4, apart=True), ["4"]),
    "past-apart-past-of-other-size": (attention(past_size=4, apart=True), ["4"]),
    "past-no-heads": (attention(queries=0, query=32), ["0"]),
    "past-kv-num-heads-1": (attention(said=1), []),
    "past-kv-num-heads-0": (attention(said=0), ["0"]),
    "past-kv-num-heads-huge": (attention(said=1 << 40), ["kv_num_heads"]),
}
# Of these, why keys and values can't be the session's state.
PLAIN = {"values-with-other-heads": "different shapes", "past-values-with-other-past": "different shapes",
         "no-lengths": "lacks seqlens_k"}


def compiled(name, model, state):
    """With the cache as the runtime's state, or without."""
    file = FOLDER / f"{name}.onnx"
    file.write_bytes(model)
    dims = ["b=1..4", "s=1..4", "p=0..4"]
    if b"attention_mask" in model:
        dims.append("n=1..8")
    flags = ["--context", "32"] if state else ["--state", "none", *(word for dim in dims for word in ("--dim", dim))]
    return support.compile_model(file, FOLDER / f"{name}.stint", "--target", "host", *flags)


def refused(name):
    model, words = MODELS[name]
    plan = FOLDER / f"{name}.stint"
    for state in (True, False):
        plan.unlink(missing_ok=True)
        # 2: the cache can't be the runtime's, and without that sizes are missing.
        code, said = (2, [PLAIN[name]]) if state and name in PLAIN else (4, words)
        support.expect(compiled(name, model, state), code, "layer0/attention", *said)
        assert not plan.exists(), "a plan was written"


def sound():
    """What the others were made from compiles."""
    for name, model in (("sound", grouped()), ("past-sound", attention()), ("past-apart", attention(apart=True))):
        for state in (True, False):
            support.expect(compiled(name, model, state), 0)


def gguf(**values):
    """A GGUF file of a byte-level tokenizer of three tokens, with changes; None leaves one out."""
    def text(value):
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    def value_of(value):
        if isinstance(value, str):
            return struct.pack("<I", 8) + text(value)
        if isinstance(value, int):
            return struct.pack("<II", 4, value)
        inner = 8 if isinstance(value[0], str) else 5
        items = b"".join(text(v) if inner == 8 else struct.pack("<i", v) for v in value)
        return struct.pack("<IIQ", 9, inner, len(value)) + items

    entries = {"model": "gpt2", "pre": "smollm", "tokens": ["a", "b", "ab"], "token_type": [1, 1, 1],
               "merges": ["a b"]} | values
    entries = {f"tokenizer.ggml.{name}": value for name, value in entries.items() if value is not None}
    return (b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) +
            b"".join(text(name) + value_of(value) for name, value in entries.items()))


# A file, the exit code, and words of the message.
TOKENIZERS = {
    "unknown-rule": (gguf(pre="mystery"), 3, ["mystery", "tokenizer.ggml.pre"]),
    "unknown-kind": (gguf(model="bert"), 3, ["bert"]),
    "no-merges": (gguf(merges=None), 4, ["merges"]),
    "merge-of-nothing": (gguf(merges=["a c"]), 4, ["c"]),
    "merge-of-one": (gguf(merges=["ab"]), 4, ["ab"]),
    "types-missing": (gguf(token_type=[1, 1]), 4, ["token_type"]),
    "no-tokens": (gguf(tokens=None), 4, ["tokens"]),
    "cut": (gguf()[:-9], 4, []),
}


def tokenizer(name):
    content, code, words = TOKENIZERS[name]
    path, model, plan = FOLDER / f"{name}.gguf", FOLDER / "sound.onnx", FOLDER / "sound.stint"
    path.write_bytes(content)
    model.write_bytes(grouped())
    plan.unlink(missing_ok=True)
    flags = ["--target", "host", "--context", "32", "--tokenizer"]
    support.expect(support.compile_model(model, plan, *flags, path), code, path.name, *words)
    assert not plan.exists(), "a plan was written"


def tokenizer_sound():
    path, model = FOLDER / "sound.gguf", FOLDER / "sound.onnx"
    path.write_bytes(gguf())
    model.write_bytes(grouped())
    support.expect(support.compile_model(model, FOLDER / "sound.stint", "--target", "host", "--context", "32",
                                         "--tokenizer", path), 0)


def tests():
    yield "sound", sound
    for name in MODELS:
        yield name, lambda name=name: refused(name)
    yield "tokenizer-sound", tokenizer_sound
    for name in TOKENIZERS:
        yield f"tokenizer-{name}", lambda name=name: tokenizer(name)
