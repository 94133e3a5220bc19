"""`stint-run generate`: stories260K tells its story in both spellings and on both architectures, from text and from
ids; a kept sequence goes on as if nothing had been between, on another architecture too; stop texts, seeds and all
that is refused or finds no room."""
import functools
import json
import subprocess

import generator
import support
import test_decoder_errors
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


@functools.cache
def chat_plan():
    """The model with a shorter context and a chat template."""
    template = FOLDER / "plain.jinja"
    template.write_text("{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
                        "{% if add_generation_prompt %}assistant:{% endif %}")
    plan_of("genai")  # makes the model
    plan, model = FOLDER / "chat.stint", test_decoders.FOLDER / "genai" / "model.onnx"
    support.expect(support.compile_model(model, plan, "--target", "host", "--context", "64", "--chat-template",
                                         template), 0)
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
    # Another plan of the same model goes on with it as well.
    rest, _, _ = events(chat_plan(), "--load-state", state, "--max-tokens", "23", *draw)
    assert begin + rest == whole, f"in another plan it goes {begin} and {rest}, not {whole}"


def foreign_states():
    plan, state = plan_of("genai"), FOLDER / "sound.sequence"
    generate(plan, "--tokens", "1", "--max-tokens", "3", "--save-state", state)
    sound, bad = state.read_bytes(), FOLDER / "bad.sequence"
    go_on = ("--load-state", bad, "--max-tokens", "2")
    for size in (0, 7, 127, 300, len(sound) - 1):
        bad.write_bytes(sound[:size])
        generate(plan, *go_on, code=4, words=["saved sequence"])
    bad.write_bytes(sound + bytes(1))
    generate(plan, *go_on, code=4, words=["something was added"])
    for where, code, word in ((3, 4, "no saved sequence"), (9, 3, "version"), (18, 4, "cut short"), (30, 4, "damaged"),
                              (57, 4, "damaged"), (66, 4, "damaged"), (90, 4, "damaged"), (140, 4, "damaged"),
                              (300, 4, "damaged"), (400, 4, "damaged"), (len(sound) - 1, 4, "damaged")):
        for bit in (1, 128):
            bad.write_bytes(sound[:where] + bytes([sound[where] ^ bit]) + sound[where + 1:])
            generate(plan, *go_on, code=code, words=["bad.sequence", word])
    bad.write_bytes(plan.read_bytes()[:5000])
    generate(plan, *go_on, code=4, words=["no saved sequence"])
    bad.write_bytes(sound)
    for other, word in ((plan_of("standard"), "is of another model"),
                        (plan_of("genai", "--kv-type", "f16"), "has another type")):
        generate(other, *go_on, code=3, words=["saved sequence", word])
    generate(plan, "--load-state", FOLDER / "none.sequence", code=1, words=["none.sequence"])
    generate(plan, "--load-state", FOLDER, code=1, words=["not a regular file"])


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
    generate(plan, "--tokens", "1", "--save-state", plan, code=2, words=["destroy the plan"])
    generate(plan, "--tokens", "512", code=1, words=["512"])
    generate(plan, "--tokens", ",".join(["1"] * 97), code=1, words=["context", "97"])
    generate(plan, "--prompt-file", FOLDER / "none.txt", code=1, words=["none.txt"])
    generate(FOLDER / "none.stint", "--tokens", "1", code=1, words=["none.stint"])
    plain = test_decoders.plan_of("genai")
    generate(plain, "--tokens", "1", code=2, words=["is no decoder"])


def no_tokenizer():
    """What is text can't be had without one; ids go on."""
    plan, model = FOLDER / "bare.stint", FOLDER / "bare.onnx"
    model.write_bytes(test_decoder_errors.grouped())
    support.expect(support.compile_model(model, plan, "--target", "host", "--context", "8"), 0)
    prompt = FOLDER / "prompt.txt"
    prompt.write_text("a")
    for flags in (["--prompt", "a"], ["--prompt-file", prompt], ["--chat"], ["--chat", "--prompt", "a"],
                  ["--tokens", "1", "--stop", "a"]):
        generate(plan, *flags, code=2, words=["bare.stint", "no tokenizer", "--tokens", "--tokenizer"])
    generate(plan, "--tokens", "1", "--max-tokens", "2")


def long_prompts():
    """A prompt that is longer than what is left of the context, however it comes; one that fits exactly is taken."""
    plan, long, state = plan_of("genai"), "Once upon a time " * 30, FOLDER / "long.sequence"
    fits = ",".join(["1"] * 96)
    generate(plan, "--prompt", long, code=1, words=["tokens is longer than the context", "room for 96"])
    _, _, end = events(plan, "--tokens", fits)
    assert (end["prompt_tokens"], end["generated_tokens"], end["finish"]) == (96, 0, "context full"), end
    generate(plan, "--tokens", "1", "--max-tokens", "80", "--save-state", state)
    go_on = ("--load-state", state, "--tokens")
    generate(plan, *go_on, ",".join(["1"] * 16), code=1, words=["a prompt of 16 tokens", "context", "room for 15"])
    generate(plan, *go_on, ",".join(["1"] * 15))
    generate(plan, "--tokens", "1", "--max-tokens", "1000", "--save-state", state)
    generate(plan, *go_on, "1", code=1, words=["context", "room for 0"])
    _, _, end = events(plan, "--load-state", state)
    assert (end["generated_tokens"], end["finish"]) == (0, "context full"), end
    generate(chat_plan(), "--chat", "--prompt", long, code=1, words=["longer than the context", "room for 64"])


def long_chats():
    """What was answered stays answered; the turn that finds no room is an error."""
    def chat(text, *flags):
        (FOLDER / "turns.txt").write_text(text)
        with open(FOLDER / "turns.txt", "rb") as turns:
            return subprocess.run([support.RUN, "generate", chat_plan(), "--chat", *flags], stdin=turns, timeout=60,
                                  capture_output=True, check=False)
    first = chat("Tell me\n", "--max-tokens", "10")
    assert first.returncode == 0 and first.stdout.count(b"\n") == 1, first
    many = chat("Tell me\n" + "More\n" * 9, "--max-tokens", "10")
    assert many.returncode == 1 and many.stdout.startswith(first.stdout), many
    assert b"context" in many.stderr, many.stderr


def more_sequences():
    """One more than the plan has room for is refused; the others go on, and one that ends makes room."""
    made = generator.Generator(plan_of("genai", "--max-sequences", "2"))
    names = [made.add([1], 12), made.add([1, *STORY[:5]], 3)]
    try:
        made.add([1], 4)
    except generator.libstint.Error as error:
        assert "2 sequences are open" in str(error), error
    else:
        raise AssertionError("a third sequence of two")
    while made.step():
        pass
    assert made.tokens(names[0])[1:] == STORY and made.tokens(names[1])[1:] == STORY[:8]
    made.remove(names[0])
    third = made.add([1], 4)
    while made.step():
        pass
    assert made.tokens(third)[1:] == STORY[:4]
    made.close()


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
    for test in (threads_and_prompts, kept, foreign_states, stop_texts, chance, wrong, no_tokenizer,
                 long_prompts, long_chats, more_sequences, deadline, contexts):
        yield test.__name__.replace("_", "-"), test
