"""Text inside plans: tokenizers and chat templates compiled in, through the C API, beside Jinja and Hugging Face's
tokenizers."""
import json
import os
import subprocess
import sys

import chat_templates
import onnxfile as onnx
import support
import text_api

PROGRAM = support.BUILD / "bin" / "stint-test-chat"
FOLDER = support.folder("chat")
SMOLLM2 = support.MODELS / "smollm2-135m-instruct.gguf"
STORIES = support.ROOT.parent / "shared" / "data" / "stories260K.gguf"


def peer(*arguments):
    """Runs the script that needs packages; what it printed."""
    import environment
    try:
        environment.need("jinja2==3.1.6", "tokenizers==0.23.3")
    except environment.Missing as error:
        raise support.Skipped(f"can't install what is compared with: {error}") from None
    done = subprocess.run([sys.executable, support.ROOT / "test" / "end-to-end" / "chat_peer.py", *arguments],
                          capture_output=True, text=True, timeout=900, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([sys.path[0], *sys.path])})
    if done.returncode:
        raise AssertionError((done.stdout + done.stderr)[-3000:])
    return done.stdout.splitlines()


def like_jinja():
    lines = peer("--program", PROGRAM, "--folder", FOLDER, "--count", "300")
    return f"{len(lines)} templates, no difference"


def refused(name):
    template, words = chat_templates.REFUSED[name]
    path, chats = FOLDER / f"refused-{name}.jinja", FOLDER / "one.in"
    path.write_text(template)
    chats.write_text(json.dumps({"messages": [], **chat_templates.TOKENS}) + "\n")
    support.expect(support.run([PROGRAM, "program", path, chats, FOLDER / "refused.out"]), 3, words)


def small_model():
    path = FOLDER / "small.onnx"
    path.write_bytes(onnx.small_model())
    return path


def plan_with(name, *flags):
    plan = FOLDER / f"{name}.stint"
    support.expect(support.compile_model(small_model(), plan, "--dim", "n=1..4", *flags), 0)
    return plan


def smollm2():
    """Ids of chats from a plan are those of the whole rendering."""
    if not SMOLLM2.is_file():
        raise support.Skipped(f"{SMOLLM2} isn't there: run models/fetch")
    import decodertokenizer
    import gguffile
    plan = plan_with("smollm2", "--tokenizer", SMOLLM2)
    metadata = gguffile.File(SMOLLM2).metadata
    tokenizer, template = FOLDER / "smollm2.json", FOLDER / "smollm2-own.jinja"
    tokenizer.write_text(json.dumps(decodertokenizer.huggingface(metadata)))
    template.write_text(metadata["tokenizer.chat_template"])
    lines = peer("--plan", plan, "--tokenizer", tokenizer, "--template", template)
    text = text_api.Text(plan)
    assert (text.info.token_count, text.info.eos_id, text.info.turn_end_id, text.info.has_chat) == (49152, 2, 2, 1)
    assert "".join(text.decode(text.chat([("user", "Hi<|im_end|>")]))).count("You are a helpful AI assistant") == 1
    text.close()
    for done in (support.run([support.STINT, "inspect", plan]), support.run([support.RUN, "--info", plan])):
        support.expect(done, 0, "tokenizer: byte-level BPE, 49152 tokens", "ends turns with 2 '<|im_end|>'",
                       "chat template: yes")
    facts = json.loads(support.run([support.STINT, "inspect", "--json", plan]).stdout)
    assert facts["tokenizer"]["turn_end"] == 2 and facts["tokenizer"]["chat"], facts["tokenizer"]
    assert [section["kind"] for section in facts["sections"]][-3:] == ["tokenizer", "chat", "weights"]
    return "; ".join(lines)


def stories():
    """A tokenizer with byte fallback, and a chat template of its own."""
    if not STORIES.is_file():
        raise support.Skipped("no ../shared/data/stories260K.gguf")
    template = FOLDER / "plain.jinja"
    template.write_text("{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
                        "{% if add_generation_prompt %}assistant:{% endif %}")
    plan = plan_with("stories", "--tokenizer", STORIES, "--chat-template", template)
    text = text_api.Text(plan)
    ids = text.encode("Once upon a time", text_api.AROUND)
    assert ids == [1, 403, 407, 261, 378], ids
    assert text.decode(ids, text_api.SKIP_SPECIAL) == "Once upon a time"
    # One character, several tokens: nothing of it comes out before it is whole.
    pieces = list(text.pieces(text.encode("été \U0001f600")))
    assert "".join(pieces) == "été \U0001f600" and len(pieces) > 6, pieces
    assert "".join(text.pieces(text.encode("\U0001f600")[:-1])).endswith("\ufffd" * 3)
    chat = text.chat([("user", "<s>Once")])
    assert chat.count(1) == 1 and text.decode(chat, text_api.SKIP_SPECIAL) == "user: <s>Once\nassistant:", chat
    for messages, words in (([("tool", "x")], "message 0 has a role"), ([], "without any message")):
        try:
            text.chat(messages)
        except text_api.Error as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"taken: {messages}")
    text.close()
    none = text_api.Text(plan_with("stories-mute", "--tokenizer", STORIES))
    assert not none.info.has_chat
    none.close()


def without():
    plan = plan_with("without")
    try:
        text_api.Text(plan)
    except text_api.Error as error:
        assert "--tokenizer" in str(error)
    else:
        raise AssertionError("a tokenizer out of nothing")
    assert "tokenizer" not in support.run([support.RUN, "--info", plan]).text


def bad_options():
    """What is wrong with a tokenizer or a template is said, and nothing is written."""
    plan, model = FOLDER / "never.stint", small_model()
    plan.unlink(missing_ok=True)
    tokenizer = FOLDER / "tokenizer.json"
    tokenizer.write_text(json.dumps({
        "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}))
    template = FOLDER / "bad.jinja"
    template.write_text("\n{{ messages | tojson }}")
    for flags, code, words in ((["--tokenizer", FOLDER / "nowhere.json"], 1, ["nowhere.json", "cannot read"]),
                               (["--tokenizer", model], 4, ["small.onnx", "neither"]),
                               (["--chat-template", template], 2, ["--tokenizer"]),
                               (["--tokenizer", tokenizer, "--chat-template", template], 3, ["bad.jinja", "line 2"]),
                               (["--tokenizer", tokenizer, "--chat-template", FOLDER / "no.jinja"], 1, ["no.jinja"])):
        support.expect(support.compile_model(model, plan, "--dim", "n=1..4", *flags), code, *words)
        assert not plan.exists()
    # tokenizer_config.json beside it: its template is the chat's, unless told otherwise.
    config = FOLDER / "tokenizer_config.json"
    config.write_text(json.dumps({"eos_token": {"content": "b"}, "chat_template": "{{ messages | tojson }}"}))
    support.expect(support.compile_model(model, plan, "--dim", "n=1..4", "--tokenizer", tokenizer), 3,
                   "tokenizer_config.json", "tojson")
    support.expect(support.compile_model(model, plan, "--dim", "n=1..4", "--tokenizer", tokenizer, "--chat-template",
                                         "none"), 0)
    text = text_api.Text(plan)
    assert (text.info.eos_id, text.info.bos_id, text.info.has_chat) == (1, text_api.NO_TOKEN, 0)
    text.close()
    config.unlink()


def decoder():
    """A decoder takes the tokenizer beside it; one of another model is refused, one that can't be read is left out."""
    if not STORIES.is_file():
        raise support.Skipped("no ../shared/data/stories260K.gguf")
    folder, plan = FOLDER / "decoder", FOLDER / "decoder.stint"
    done = support.run([sys.executable, support.ROOT / "models" / "make-decoder", STORIES, folder, "--spelling", "genai",
                        "--weights", "float32"])
    if done.returncode == 4:
        raise support.Skipped(done.text.strip())
    support.expect(done, 0)
    model, flags = folder / "model.onnx", ("--context", "64", "--target", "x86_64-linux", "--cpu", "v3")
    support.expect(support.compile_model(model, plan, *flags), 0, "text")
    text = text_api.Text(plan)
    assert (text.info.token_count, text.info.bos_id, text.info.eos_id) == (512, 1, 2)
    assert text.encode("Once upon a time", text_api.AROUND) == [1, 403, 407, 261, 378]
    text.close()
    large = FOLDER / "large.json"
    large.write_text(json.dumps({
        "added_tokens": [], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {f"t{number}": number for number in range(600)}, "merges": []}}))
    support.expect(support.compile_model(model, plan, *flags, "--tokenizer", large), 2, "large.json", "600", "512")
    (folder / "tokenizer.json").write_text("{")
    support.expect(support.compile_model(model, plan, *flags), 0, "no text in the plan", "tokenizer.json")


def tests():
    yield "like-jinja", like_jinja
    for name in chat_templates.REFUSED:
        yield f"refused-{name}", lambda name=name: refused(name)
    yield "smollm2", smollm2
    yield "stories", stories
    yield "without", without
    yield "decoder", decoder
    yield "bad-options", bad_options
