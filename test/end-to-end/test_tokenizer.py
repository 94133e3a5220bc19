"""Compiled tokenizers against Hugging Face's library, and tokenizers that are refused."""
import collections
import functools
import json
import os
import subprocess
import sys
import unicodedata

import support
import tokenizer_texts

PROGRAM = support.BUILD / "bin" / "stint-test-tokenize"
PACKAGES = ("tokenizers==0.23.3",)
COUNT = int(os.environ.get("STINT_TEXTS", "700"))
NAMES = ["gpt2", "gpt2-prefix", "smollm", "digit-runs", "llama3", "qwen2", "gpt4o", "removed", "llama2",
         "metaspace-first", "metaspace-always", "metaspace-never", "gemma"]
FILES = [support.MODELS / "smollm2-135m-instruct.gguf", support.MODELS / "smollm2-135m-tokenizer.json",
         support.ROOT.parent / "shared" / "data" / "stories260K.gguf"]
SCRIPTS = {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "TAMIL", "THAI", "GEORGIAN", "CJK", "HIRAGANA",
           "HANGUL"}


def script(name, *arguments):
    """Runs a script that needs Hugging Face's library; what it printed."""
    import environment
    try:
        environment.need(*PACKAGES)
    except environment.Missing as error:
        raise support.Skipped(f"can't install what is compared with: {error}") from None
    path = os.pathsep.join([sys.path[0], str(support.ROOT / "test" / "end-to-end")])
    done = subprocess.run([sys.executable, support.ROOT / "test" / "end-to-end" / name, "--program", PROGRAM,
                           "--folder", support.folder("tokenizers"), *arguments], capture_output=True, text=True,
                          timeout=900 + COUNT / 20, env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode:
        raise AssertionError((done.stdout + done.stderr)[-3000:])
    return done.stdout.splitlines()


def compared():
    lines = script("tokenizer_peer.py", "--count", str(COUNT), *NAMES)
    return f"{len(lines)} tokenizers, {COUNT} texts each, no difference"


def compared_file(path):
    """A real model's tokenizer."""
    if not path.is_file():
        raise support.Skipped(f"no {path.name}: models/fetch makes those of SmolLM2, the other lies in ../shared/data")
    line, = script("tokenizer_peer.py", "--count", str(COUNT), path)
    return line.partition(": ")[2]


@functools.cache
def script_of(character):
    """The first word of a letter's name says which script it is of."""
    letter = unicodedata.category(character).startswith("L")
    return unicodedata.name(character, "").split(" ")[0] if letter else ""


def scripts():
    """Of the texts that are compared, some are in each script, wherever this runs."""
    texts = tokenizer_texts.strings(COUNT, 1)
    assert len(texts) == len(set(texts)) == COUNT, f"{len(set(texts))} different texts, not {COUNT}"
    found = collections.Counter()
    for text in texts:
        letters = collections.Counter(map(script_of, text))
        found.update(name for name, count in letters.items() if count >= 8)
    rare = {name: found[name] for name in SCRIPTS if found[name] < COUNT // 200}
    assert not rare, f"{COUNT} texts, but as few in these scripts: {rare}"
    least = min(SCRIPTS, key=found.__getitem__)
    return f"{len(SCRIPTS)} scripts, the rarest {least.lower()} in {found[least]} texts"


def small(**changes):
    """A byte-level tokenizer.json of three tokens, with changes."""
    data = {"added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}
    for key, value in changes.items():
        part, _, rest = key.partition("__")
        if rest:
            data[part][rest] = value
        else:
            data[part] = value
    return json.dumps(data)


def regex(pattern):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}


# Content, exit code, words of the message.
REFUSED = {
    "cut": ("{", 4, []),
    "not-an-object": ("[1]", 4, []),
    "nested": ("{\"a\":" + "[" * 100000, 4, ["deep"]),
    "no-model": ("{}", 4, ["model"]),
    "unigram": (small(model__type="Unigram"), 3, ["Unigram"]),
    "normalizer": (small(normalizer={"type": "Lowercase"}), 3, ["Lowercase"]),
    "pre-tokenizer": (small(pre_tokenizer={"type": "Whitespace"}), 3, ["Whitespace"]),
    "decoder": (small(decoder={"type": "WordPiece"}), 3, ["WordPiece"]),
    "post-processor": (small(post_processor={"type": "BertProcessing"}), 3, ["BertProcessing"]),
    "truncation": (small(truncation={"max_length": 3}), 3, ["truncation"]),
    "merge-of-nothing": (small(model__merges=["a c"]), 4, ["'c'"]),
    "id-twice": (small(model__vocab={"a": 0, "b": 0}), 4, ["'a'", "'b'"]),
    "id-too-large": (small(model__vocab={"a": 99999999}), 3, ["99999999"]),
    "negative-id": (small(model__vocab={"a": -1}), 4, ["'a'"]),
    "prefix": (small(model__continuing_subword_prefix="##"), 3, ["continuing_subword_prefix"]),
    "word-boundary": (small(pre_tokenizer=regex(r"\w+")), 3, [r"'\w'"]),
    "possessive": (small(pre_tokenizer=regex(r"\p{L}++")), 3, ["possessive"]),
    "script": (small(pre_tokenizer=regex(r"\p{Han}+")), 3, [r"\p{Han}"]),
    "lookbehind": (small(pre_tokenizer=regex(r"(?<=a)b")), 3, ["(?<"]),
    "folded-pair": (small(pre_tokenizer=regex(r"(?i:miss)")), 3, ["'ss'"]),
    "matches-nothing": (small(pre_tokenizer=regex(r"\s*")), 3, ["may match nothing"]),
    "unclosed": (small(pre_tokenizer=regex("(a")), 3, ["'('"]),
    "huge-repeat": (small(pre_tokenizer=regex("((((a{64}){64}){64}){64}){64}")), 3, ["too large"]),
    "wrong-added-id": (small(added_tokens=[{"id": 9, "content": "<x>"}]), 4, ["'<x>'"]),
    "single-word": (small(added_tokens=[{"id": 3, "content": "<x>", "single_word": True}]), 3, ["single_word"]),
}


def refused(name):
    content, code, words = REFUSED[name]
    path = support.folder("tokenizers") / f"refused-{name}.json"
    path.write_text(content)
    support.expect(support.run([PROGRAM, "compile", path, path, path.with_suffix(".out")]), code, *words)


def tests():
    yield "scripts", scripts
    yield "like-hugging-face", compared
    for path in FILES:
        yield f"like-hugging-face-{path.name}", lambda path=path: compared_file(path)
    for name in REFUSED:
        yield f"refused-{name}", lambda name=name: refused(name)
