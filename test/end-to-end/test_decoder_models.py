"""models/make-decoder: decoders built of stories260K.gguf, and files that it refuses. What the built models compute
is models/check-decoder's to say, which needs ONNX Runtime."""
import collections
import json
import sys

import support

sys.path.insert(0, str(support.ROOT / "test" / "conformance"))
import tensorproto

GGUF = support.ROOT.parent / "shared" / "data" / "stories260K.gguf"
FOLDER = support.folder("decoders")
LAYERS = 5


def of(data, number):
    return [value for key, _, value in tensorproto.fields(data) if key == number]


def make(*flags, gguf=GGUF, folder=FOLDER):
    if gguf == GGUF and not GGUF.is_file():
        raise support.Skipped("no ../shared/data/stories260K.gguf")
    done = support.run([sys.executable, support.ROOT / "models" / "make-decoder", gguf, folder, *flags])
    if done.returncode == 4:
        raise support.Skipped(done.text.strip())
    return done


def structure(spelling, flags, kinds, opset):
    """How many nodes of which kind, and what goes in and out."""
    def test():
        folder = FOLDER / spelling
        support.expect(make("--spelling", spelling, *flags, folder=folder), 0)
        model = memoryview((folder / "model.onnx").read_bytes())
        graph, = of(model, 7)
        found = collections.Counter(bytes(of(node, 4)[0]).decode() for node in of(graph, 1))
        for kind, count in kinds.items():
            assert found[kind] == count, f"{found[kind]} {kind}, expected {count}"
        versions = {bytes(domain).decode(): version for entry in of(model, 8)
                    for domain, version in [[value for _, _, value in tensorproto.fields(entry)]]}
        assert versions.get("") == opset, f"opsets {versions}"
        inputs, outputs = ([bytes(of(port, 1)[0]).decode() for port in of(graph, number)] for number in (11, 12))
        state = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
        assert [name for name in inputs if "past" in name] == [f"past_key_values.{name}" for name in state]
        assert outputs == ["logits", *(f"present.{name}" for name in state)], f"outputs {outputs}"
        assert {"input_ids", "attention_mask"} <= set(inputs)
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
        assert len(tokenizer["vocab"]) == 512 and tokenizer["byte_fallback"], "not the file's tokenizer"
        assert json.loads((folder / "genai_config.json").read_text())["model"]["decoder"]["head_size"] == 8
    return test


def external():
    """Large weights in a file of their own are the same bytes as inside."""
    inside, outside = FOLDER / "inside", FOLDER / "outside"
    support.expect(make(folder=inside), 0)
    support.expect(make("--external", folder=outside), 0)
    data = (outside / "model.onnx.data").read_bytes()

    def weights(path):
        graph, = of(memoryview(path.read_bytes()), 7)
        for tensor in of(graph, 5):
            name = bytes(of(tensor, 8)[0]).decode()
            entries = dict(tuple(bytes(of(entry, part)[0]).decode() for part in (1, 2)) for entry in of(tensor, 13))
            if entries:
                assert entries["location"] == "model.onnx.data" and int(entries["offset"]) % 4096 == 0
                yield name, data[int(entries["offset"]):][:int(entries["length"])]
            else:
                yield name, bytes(of(tensor, 9)[0])

    one, other = dict(weights(inside / "model.onnx")), dict(weights(outside / "model.onnx"))
    assert one == other and len(one) > 5 * LAYERS, "the weights differ"


def refused(change, word):
    """A damaged or foreign file gets one line that says what is wrong."""
    def test():
        if not GGUF.is_file():
            raise support.Skipped("no ../shared/data/stories260K.gguf")
        path = FOLDER / "bad.gguf"
        path.write_bytes(change(GGUF.read_bytes()))
        done = support.expect(make(gguf=path, folder=FOLDER / "bad"), 1, word)
        assert done.text.count("\n") == 1, f"more than a line: {done.text}"
    return test


def runtime():
    """ONNX Runtime tells the known story with every spelling, its logits as in float64."""
    done = support.run([sys.executable, support.ROOT / "models" / "check-decoder", "stories260k"], timeout=600,
                       env={"STINT_MODELS": str(support.MODELS)})
    if done.returncode == 4:
        raise support.Skipped(done.text.strip().splitlines()[-1])
    support.expect(done, 0, "240 greedy tokens as they should be")


def compared(make_model, *lengths):
    """The compiled decoder's logits beside ONNX Runtime's: models/compare-decoder."""
    def test():
        model = make_model()
        plan = FOLDER / "compared.stint"
        support.expect(support.compile_model(model, plan, "--target", "host", "--context",
                                             str(max(lengths[-1], 128)), "--chunk", "48", "--logit-rows", "48"), 0)
        done = support.run([sys.executable, support.ROOT / "models" / "compare-decoder", model, plan, "--lengths",
                            ",".join(map(str, lengths))], timeout=600, env={"STINT_MODELS": str(support.MODELS)})
        if done.returncode == 4:
            raise support.Skipped(done.text.strip().splitlines()[-1])
        support.expect(done, 0, f"{lengths[-1]} tokens: differ by")
        plan.unlink()  # may be large
        return done.text.strip().splitlines()[-1]
    return test


def same_tokens(name, tokenizer, asked, *makers):
    """Spellings of one model say the same: behind the prompt of decoders.json, given as ids and as text, what was
    computed in float64; and behind tokens by chance."""
    known = json.loads((support.ROOT / "models" / "golden" / "decoders.json").read_text())["models"][name]

    def test():
        said = []
        for make_model in makers:
            model, plan = make_model(), FOLDER / "spelling.stint"
            if not tokenizer.is_file():
                raise support.Skipped(f"no {tokenizer.name}")
            support.expect(support.compile_model(model, plan, "--target", "host", "--context", "128",
                                                 "--tokenizer", tokenizer), 0)

            def tokens(*flags):
                done = support.expect(support.run([support.RUN, "generate", plan, *flags, "--json"]), 0)
                return [event["id"] for event in map(json.loads, done.stdout.splitlines())
                        if event["event"] == "token" and event["id"] >= 0]

            prompt = ",".join(map(str, known["prompt"]))
            behind = tokens("--tokens", prompt, "--max-tokens", "60", "--ignore-end")
            length = min(60, len(known["tokens"]))
            assert behind[:length] == known["tokens"][:length], f"{model.name}: it goes {behind}"
            text = support.expect(support.run([support.RUN, "generate", plan, *asked, "--max-tokens", str(length)]), 0)
            assert text.stdout.decode().startswith(known["text"][:40]), f"{model.name}: it says {text.stdout!r}"
            assert f"prompt {len(known['prompt'])} token" in text.text, text.text
            said.append((behind, tokens("--tokens", "1,15,29,300,7", "--max-tokens", "60", "--ignore-end")))
            plan.unlink()
        assert all(len(ids) == 60 for ids in said[0]) and said[1:] == said[:-1], f"{said}"
        return f"2 times {len(said[0][0])} tokens"
    return test


def story_model(spelling, *flags):
    def found():
        folder = FOLDER / f"compared-{spelling}"
        support.expect(make("--spelling", spelling, *flags, folder=folder), 0)
        return folder / "model.onnx"
    return found


def fetched(name):
    def found():
        path = support.MODELS / name
        if not path.is_file():
            raise support.Skipped(f"models/fetch {name} wasn't run")
        return path
    return found


def tests():
    yield "compared-genai", compared(story_model("genai", "--weights", "float32", "--head-size", "16"), 1, 40, 128)
    yield "compared-standard", compared(story_model("standard"), 1, 40, 128)
    yield "compared-smollm2-q4", compared(fetched("smollm2-135m-q4.onnx"), 1, 7, 64)
    floats, standard = fetched("smollm2-135m-f32.onnx"), fetched("smollm2-135m-standard.onnx")
    yield "compared-smollm2-f32", compared(floats, 1, 17, 128, 500)
    yield "compared-smollm2-standard", compared(standard, 1, 17, 128, 500)
    yield "same-tokens-stories", same_tokens(
        "stories260k", GGUF, ["--tokens", "1"], story_model("genai", "--weights", "float32", "--head-size", "16"),
        story_model("standard"))
    yield "same-tokens-smollm2", same_tokens(
        "smollm2-135m", support.MODELS / "smollm2-135m-instruct.gguf",
        ["--chat", "--prompt", "What is the capital of France?"], floats, standard)
    yield "genai", structure("genai", ["--weights", "float32"], {
        "GroupQueryAttention": LAYERS, "SimplifiedLayerNormalization": 1, "SkipSimplifiedLayerNormalization": 2 * LAYERS,
        "MatMul": 5 * LAYERS + 1, "Gather": 2}, 21)
    yield "standard", structure("standard", ["--rotary", "interleaved"], {
        "Attention": LAYERS, "RotaryEmbedding": 2 * LAYERS, "RMSNormalization": 2 * LAYERS + 1,
        "MatMul": 7 * LAYERS + 1}, 23)
    yield "external", external
    yield "truncated", refused(lambda data: data[:len(data) - 4096], "beyond the end")
    yield "cut-header", refused(lambda data: data[:1000], "header")
    yield "not-gguf", refused(lambda data: b"ONNX" + data[4:], "not a GGUF file")
    yield "architecture", refused(lambda data: data.replace(b"\5\0\0\0\0\0\0\0llama", b"\5\0\0\0\0\0\0\0mamba"), "mamba")
    yield "heads", refused(lambda data: data.replace(b"head_count_kv\4\0\0\0\4", b"head_count_kv\4\0\0\0\3"), "3 heads")
    yield "onnx-runtime", runtime
