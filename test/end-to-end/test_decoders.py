"""Decoders as they are exported, past and present as plain tensors: stories260K tells its story in both spellings,
token by token and all at once, on both architectures."""
import functools
import sys

import support

GGUF = support.ROOT.parent / "shared" / "data" / "stories260K.gguf"
FOLDER = support.folder("decoder-plans")
LAYERS, KV_HEADS, HEAD, VOCABULARY = 5, 4, 8, 512
STORY = [403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421]
SPELLINGS = {"genai": ["--weights", "float32"], "standard": []}


@functools.cache
def plan_of(spelling):
    if not GGUF.is_file():
        raise support.Skipped("no ../shared/data/stories260K.gguf")
    folder, plan = FOLDER / spelling, FOLDER / f"{spelling}.stint"
    done = support.run([sys.executable, support.ROOT / "models" / "make-decoder", GGUF, folder, "--spelling", spelling,
                        *SPELLINGS[spelling]])
    if done.returncode == 4:
        raise support.Skipped(done.text.strip())
    support.expect(done, 0)
    dims = [word for dim in ("batch_size=1", "sequence_length=1..32", "past_sequence_length=0..64",
                             "total_sequence_length=1..96") for word in ("--dim", dim)]
    support.expect(support.compile_model(folder / "model.onnx", plan, "--target", support.BOTH, "--state", "none", *dims), 0)
    return plan


def numbers(name, values):
    path = FOLDER / f"{name}.npy"
    support.tensors.write_npy(path, (1, len(values)), support.tensors.array.array("q", values), "<i8")
    return path


def logits_of(program, plan, spelling, tokens, past, label):
    """The logits after each token, and the files of what is remembered."""
    length = past["length"]
    inputs = {"input_ids": numbers("ids", tokens), "attention_mask": numbers("mask", [1] * (length + len(tokens)))}
    if spelling == "standard":
        inputs["position_ids"] = numbers("positions", list(range(length, length + len(tokens))))
    presents = {}
    for layer in range(LAYERS):
        for part in ("key", "value"):
            inputs[f"past_key_values.{layer}.{part}"] = past[layer, part]
            presents[layer, part] = FOLDER / f"present.{label}.{layer}.{part}.npy"
    logits = FOLDER / "logits.npy"
    flags = [word for name, path in inputs.items() for word in ("--input", f"{name}={path}")]
    flags += [word for (layer, part), path in presents.items() for word in ("--output",
                                                                            f"present.{layer}.{part}={path}")]
    support.expect(support.run([*program, plan, *flags, "--output", f"logits={logits}"]), 0)
    shape, values = support.tensors.read_npy(logits)
    assert tuple(shape) == (1, len(tokens), VOCABULARY), shape
    rows = [values[row * VOCABULARY:(row + 1) * VOCABULARY] for row in range(len(tokens))]
    return rows, {"length": length + len(tokens), **presents}


def step(program, plan, spelling, tokens, past, label):
    """The likeliest token after each, and the files of what is remembered."""
    rows, past = logits_of(program, plan, spelling, tokens, past, label)
    return [max(range(VOCABULARY), key=row.__getitem__) for row in rows], past


def nothing():
    empty = FOLDER / "empty.npy"
    support.tensors.write_npy(empty, (1, KV_HEADS, 0, HEAD), support.tensors.array.array("f"), "<f4")
    return {"length": 0, **{(layer, part): empty for layer in range(LAYERS) for part in ("key", "value")}}


def story(spelling):
    def test():
        plan = plan_of(spelling)
        for program in ([support.RUN], support.qemu()):
            past, tokens = nothing(), [1]
            for at in range(len(STORY)):
                (token,), past = step(program, plan, spelling, tokens[-1:], past, at % 2)
                tokens.append(token)
            assert tokens[1:] == STORY, f"it goes {tokens[1:]}"
            # All at once, and in two parts.
            said, _ = step(program, plan, spelling, tokens[:-1], nothing(), 0)
            assert said == STORY, f"all at once it goes {said}"
            first, past = step(program, plan, spelling, tokens[:5], nothing(), 0)
            rest, _ = step(program, plan, spelling, tokens[5:-1], past, 1)
            assert first + rest == STORY, f"in two parts it goes {first + rest}"
    return test


def tests():
    for spelling in SPELLINGS:
        yield spelling, story(spelling)
