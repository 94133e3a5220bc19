"""`stint-run generate`: stories260K tells its story in both spellings and on both architectures, from text and from
ids; a kept sequence goes on as if nothing had been between, on another architecture too; stop texts, seeds and all
that is refused."""
import functools
import json

import support
import test_decoders

FOLDER = support.folder("generate")
STORY = test_decoders.STORY


@functools.cache
def plan_of(spelling, *flags):
    """The plan of a decoder with its tokenizer, which lies beside the model."""
    test_decoders.plan_of(spelling)  # makes the model
    plan = FOLDER / f"{spelling}{''.join(flags)}.stint"
    model = test_decoders.FOLDER / spelling / "model.onnx"
    support.expect(support.compile_model(model, plan, "--target", support.BOTH, "--context", "96", "--chunk", "8",
                                         *flags), 0)
    return plan


def generate(plan, *flags, program=(support.RUN,), code=0, words=()):
    return support.expect(support.run([*program, "generate", plan, *flags]), code, *words)


def events(plan, *flags, program=(support.RUN,)):
    """What comes with --json: ids, text, and how it ended."""
    lines = [json.loads(line) for line in generate(plan, *flags, "--json", program=program).stdout.splitlines()]
    tokens = [line for line in lines if line["event"] == "token"]
    assert lines[-1]["event"] == "end", lines[-1]
    return [line["id"] for line in tokens if line["id"] >= 0], "".join(line["text"] for line in tokens), lines[-1]


def story(spelling):
    def test():
        plan = plan_of(spelling)
        for program in ([support.RUN], support.qemu()):
            ids, text, end = events(plan, "--tokens", "1", "--max-tokens", "12", program=program)
            assert ids == STORY, f"it goes {ids}"
            assert end["finish"] == "max tokens" and end["generated_tokens"] == 12, end
            plain = generate(plan, "--prompt", "", "--max-tokens", "12", program=program).stdout.decode()
            assert plain == text + "\n", f"from text it goes {plain!r}, from ids {text!r}"
            assert plain.startswith("Once upon a time"), plain
    return test


def threads_and_prompts():
    """The same tokens however many threads there are, and whatever part of them is given as a prompt."""
    plan = plan_of("genai")
    whole, _, _ = events(plan, "--tokens", "1", "--max-tokens", "60")
    for given, threads in ((7, 1), (8, 2), (9, 3), (40, 2)):
        prompt = ",".join(map(str, [1, *whole[:given]]))
        ids, _, end = events(plan, "--tokens", prompt, "--max-tokens", str(60 - given), "--threads", str(threads))
        assert ids == whole[given:], f"after {given} tokens it goes {ids}, not {whole[given:]}"
        assert end["prompt_tokens"] == given + 1, end


def kept():
    plan, draw = plan_of("genai"), ("--temperature", "1", "--top-p", "0.9", "--seed", "5")
    whole, _, _ = events(plan, "--tokens", "1", "--max-tokens", "40", *draw)
    for first, second in (([support.RUN], support.qemu()), (support.qemu(), [support.RUN])):
        state = FOLDER / "kept.sequence"
        state.unlink(missing_ok=True)
        begin, _, _ = events(plan, "--tokens", "1", "--max-tokens", "17", "--save-state", state, *draw, program=first)
        rest, _, _ = events(plan, "--load-state", state, "--max-tokens", "23", *draw, program=second)
        assert begin + rest == whole, f"it goes {begin} and {rest}, not {whole}"
        prompt = ",".join(map(str, whole[17:20]))
        more, _, _ = events(plan, "--load-state", state, "--tokens", prompt, "--max-tokens", "20", *draw)
        assert more == whole[20:], f"with more of a prompt it goes {more}, not {whole[20:]}"


def foreign_states():
    plan, state = plan_of("genai"), FOLDER / "sound.sequence"
    generate(plan, "--tokens", "1", "--max-tokens", "3", "--save-state", state)
    sound, bad = state.read_bytes(), FOLDER / "bad.sequence"
    go_on = ("--load-state", bad, "--max-tokens", "2")
    for size in (0, 7, 127, 300, len(sound) - 1):
        bad.write_bytes(sound[:size])
        generate(plan, *go_on, code=4, words=["saved sequence"])
    bad.write_bytes(sound[:400] + bytes([sound[400] ^ 1]) + sound[401:])
    generate(plan, *go_on, code=4, words=["damaged"])
    bad.write_bytes(plan.read_bytes()[:5000])
    generate(plan, *go_on, code=4, words=["no saved sequence"])
    bad.write_bytes(sound)
    generate(plan_of("genai", "--max-sequences", "2"), *go_on, code=3, words=["another model"])
    generate(plan, "--load-state", FOLDER / "none.sequence", code=1, words=["none.sequence"])


def stop_texts():
    plan = plan_of("genai")
    _, text, _ = events(plan, "--tokens", "1", "--max-tokens", "40")
    for stop in (text[10:13], text[4:5], "a time"):
        said = generate(plan, "--tokens", "1", "--max-tokens", "40", "--stop", "never there", "--stop", stop)
        assert said.stdout.decode() == text[:text.index(stop)] + "\n", f"before {stop!r} it says {said.stdout!r}"
        assert "stop text" in said.text, said.text
    # What only looks as if it became one is given out.
    said = generate(plan, "--tokens", "1", "--max-tokens", "40", "--stop", text[-4:] + "?", "--stop", text[5:9] + "?")
    assert said.stdout.decode() == text + "\n", said.stdout


def chance():
    plan, how = plan_of("genai"), ("--tokens", "1", "--max-tokens", "30", "--temperature", "1.2")
    said = {seed: events(plan, *how, "--seed", str(seed))[0] for seed in range(4)}
    assert len({tuple(ids) for ids in said.values()}) == 4, said
    assert events(plan, *how, "--seed", "3")[0] == said[3]
    assert events(plan, *how, "--seed", "3", program=support.qemu())[0] == said[3]
    least = events(plan, *how, "--top-k", "1")[0]
    assert least == events(plan, "--tokens", "1", "--max-tokens", "30")[0]
    punished = events(plan, "--tokens", "1", "--max-tokens", "60", "--presence-penalty", "100")[0]
    assert len(set(punished)) == 60, "a token comes again in spite of the penalty"


def wrong():
    plan = plan_of("genai")
    for flags, word in ((["--temperature", "nan"], "--temperature"), (["--temperature", "-1"], "--temperature"),
                        (["--top-p", "0"], "--top-p"), (["--top-p", "1.01"], "--top-p"), (["--min-p", "x"], "--min-p"),
                        (["--top-k", "-1"], "--top-k"), (["--max-tokens", "0"], "--max-tokens"),
                        (["--max-tokens", "-5"], "--max-tokens"), (["--seed", "1.5"], "--seed"),
                        (["--repetition-penalty", "0"], "--repetition-penalty"), (["--stop", ""], "--stop"),
                        (["--presence-penalty", "inf"], "--presence-penalty"), (["--bench", "3"], "--bench"),
                        (["--frequency-penalty", ""], "--frequency-penalty"), (["--prompt", "a"], "--prompt"),
                        (["--nonsense"], "--nonsense"), (["--seed"], "--seed"), (["--json=1"], "--json")):
        generate(plan, "--tokens", "1", *flags, code=2, words=[word])
    generate(plan, code=2, words=["nothing to continue"])
    generate(plan, "--chat", "--prompt", "a", code=2, words=["chat template"])
    generate(plan, "--tokens", "1,,2", code=2, words=["--tokens"])
    generate(plan, "--tokens", "512", code=1, words=["512"])
    generate(plan, "--tokens", ",".join(["1"] * 97), code=1, words=["context", "97"])
    generate(plan, "--prompt-file", FOLDER / "none.txt", code=1, words=["none.txt"])
    generate(FOLDER / "none.stint", "--tokens", "1", code=1, words=["none.stint"])
    plain = test_decoders.plan_of("genai")
    generate(plain, "--tokens", "1", code=2, words=["is no decoder"])


def deadline():
    """What was said before it stays said; then the reason."""
    generate(plan_of("genai"), "--tokens", "1", "--max-tokens", "90", "--timeout-ms", "1", code=1,
             words=["met its deadline", "--timeout-ms"])


def contexts():
    """At the end of the context, or of the cache, it ends, and says so."""
    _, _, end = events(plan_of("genai"), "--tokens", "1", "--max-tokens", "1000")
    assert end["finish"] == "context full" and end["generated_tokens"] == 95, end
    small = plan_of("genai", "--kv-memory", "96K")
    done = support.run([support.RUN, "generate", small, "--tokens", "1", "--max-tokens", "1000"])
    if "context full" not in done.text:
        support.expect(done, 1, "cache", "full")


def tests():
    for spelling in test_decoders.SPELLINGS:
        yield f"story-{spelling}", story(spelling)
    for test in (threads_and_prompts, kept, foreign_states, stop_texts, chance, wrong, deadline, contexts):
        yield test.__name__.replace("_", "-"), test
