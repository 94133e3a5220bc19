#!/usr/bin/env python3
"""Compares compiled chat templates with Jinja, and the ids of chats with Hugging Face's tokenizers.

usage: chat_peer.py --program STINT-TEST-CHAT --folder FOLDER [--count N] [TEMPLATE]...
       chat_peer.py --plan PLAN --tokenizer TOKENIZER.json --template TEMPLATE.jinja [--count N]

First form: each template of chat_templates.py (or of the files that are named) is
rendered N times by Jinja, as `transformers` sets it up, by the compiler's evaluator and by
the program it is compiled to. Second form: chats become ids through the C API
as the library makes them of the whole rendering, wherever no message holds what looks like a
special token. Ends with 1 at the first difference. Packages: jinja2; tokenizers.
"""
import argparse
import json
import pathlib
import subprocess

import chat_templates
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment


def refuse(message):
    raise TemplateError(message)


def environment():
    result = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    result.globals["raise_exception"] = refuse
    return result


def render(template, chat):
    """The text, or None where Jinja refuses the chat."""
    try:
        return template.render(**chat, tools=None, documents=None)
    except (TemplateError, TypeError):
        return None


def answers(options, mode, path, chats):
    given, answer = options.folder / f"{path.stem}.in", options.folder / f"{path.stem}.{mode}"
    given.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    done = subprocess.run([options.program, mode, path, given, answer], capture_output=True, text=True, timeout=300,
                          check=False)
    if done.returncode:
        raise SystemExit(f"{path.stem}: {mode} ended with {done.returncode}: {done.stderr[-800:]}")
    return [json.loads(line) for line in answer.read_text().splitlines()]


def compare_template(options, path):
    chats = list(chat_templates.chats(options.count))
    template = environment().from_string(path.read_text())
    texts = [render(template, chat) for chat in chats]
    for mode in ("render", "program"):
        for chat, text, answer in zip(chats, texts, answers(options, mode, path, chats)):
            if answer.get("text") != text and not (text and mode == "program" and loses(chat, text)):
                raise SystemExit(f"{path.stem}: {mode} gives {answer}, Jinja {text!r}, for {chat}")
    taken = sum(text is not None for text in texts)
    print(f"{path.stem}: {len(chats)} chats, {taken} of them taken, no difference")


def loses(chat, text):
    """Whether a message isn't in the text: a program refuses such chats."""
    return any(message["content"].strip() not in text for message in chat["messages"])


def compare_ids(options):
    import text_api
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(options.tokenizer))
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    plan = text_api.Text(options.plan)
    template = environment().from_string(options.template.read_text())
    compared, apart = 0, 0
    for chat in chat_templates.chats(options.count):
        text = render(template, chat)
        if text is None:
            continue
        ids = plan.chat([(m["role"], m["content"]) for m in chat["messages"]],
                        0 if chat["add_generation_prompt"] else text_api.NO_PROMPT)
        whole = tokenizer.encode(text, add_special_tokens=False).ids
        if any(token in m["content"] for m in chat["messages"] for token in special):
            # They are text to us; all else is the same.
            assert plan.decode(ids) == tokenizer.decode(ids, skip_special_tokens=False) and ids != whole, chat
            apart += 1
            continue
        if ids != whole:
            raise SystemExit(f"{ids} instead of {whole} for {text!r}")
        compared += 1
    print(f"{compared} chats have the library's ids, {apart} hold what looks like special tokens")


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "folder", "plan", "tokenizer", "template"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if options.plan:
        return compare_ids(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.files:
        for name, text in chat_templates.TAKEN.items():
            options.files.append(options.folder / f"{name}.jinja")
            options.files[-1].write_text(text)
    for path in options.files:
        compare_template(options, path)


if __name__ == "__main__":
    main()
