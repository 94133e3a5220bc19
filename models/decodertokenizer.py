"""The tokenizer in a GGUF file's metadata, as the files that Hugging Face's libraries read.

What GGUF keeps (keys tokenizer.ggml.*): `model`, "gpt2" for byte-level BPE or
"llama" for SentencePiece's BPE; `pre`, the name of the rule that splits text before
byte-level BPE; `tokens`; `token_type` (1 normal, 2 unknown, 3 control, 4 user
defined, 5 unused, 6 byte); `merges` for gpt2, in order of rank; `scores` for llama, where
the pair that makes the token with the highest score is merged first; ids of special
tokens; add_bos_token and add_space_prefix; and tokenizer.chat_template beside them.

Python's standard library only.
"""
NORMAL, UNKNOWN, CONTROL, USER = 1, 2, 3, 4
SPACE = "\u2581"

# Splitting rules of byte-level BPE by GGUF's name, as the pre-tokenizers of the models they are named after.
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def _byte_level(regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": regex}


def _split(pattern):
    return [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
            _byte_level(False)]


RULES = {"gpt-2": [_byte_level(True)],
         "smollm": [{"type": "Digits", "individual_digits": True}, _byte_level(True)],
         "llama-bpe": _split(LLAMA3),
         "qwen2": _split(QWEN2)}


class Unknown(Exception):
    """A tokenizer that isn't written as tokenizer.json, and why."""


def facts(metadata):
    """Everything that the file says about the tokenizer, under its own keys."""
    return {key: value for key, value in metadata.items() if key.startswith("tokenizer.")}


def _get(metadata, key, default=None):
    return metadata.get(f"tokenizer.ggml.{key}", default)


def _special(metadata, kind):
    """The text of a special token, None where the file names none (some write -1)."""
    number, tokens = _get(metadata, f"{kind}_token_id"), _get(metadata, "tokens")
    return tokens[number] if number is not None and 0 <= number < len(tokens) else None


def _adds_bos(metadata):
    return _get(metadata, "add_bos_token", _get(metadata, "model") == "llama") and _special(metadata, "bos") is not None


def _added_tokens(tokens, types):
    return [{"id": number, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": kind != USER}
            for number, (token, kind) in enumerate(zip(tokens, types)) if kind in (UNKNOWN, CONTROL, USER)]


def _merges_from_scores(vocabulary, scores, types):
    """All ways to make a token of two others, the highest score first."""
    merges = []
    for token, number in vocabulary.items():
        if types[number] != NORMAL:
            continue
        pairs = [(token[:at], token[at:]) for at in range(1, len(token))]
        pairs = [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
        merges += sorted(((*pair, scores[number]) for pair in pairs),
                         key=lambda merge: (vocabulary[merge[0]], vocabulary[merge[1]]))
    merges.sort(key=lambda merge: (merge[2], len(merge[0]), len(merge[1])), reverse=True)
    return [list(merge[:2]) for merge in merges]


def _bpe(vocabulary, merges, **more):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **more,
            "vocab": vocabulary, "merges": merges}


def huggingface(metadata):
    """The content of tokenizer.json."""
    kind, tokens = _get(metadata, "model"), _get(metadata, "tokens")
    if kind is None or tokens is None:
        raise Unknown("the file holds no tokenizer")
    types = _get(metadata, "token_type") or [NORMAL] * len(tokens)
    if len(types) != len(tokens):
        raise Unknown(f"{len(types)} types of {len(tokens)} tokens")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    out = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": _added_tokens(tokens, types)}
    if kind == "gpt2":
        rule, merges = _get(metadata, "pre", "gpt-2"), _get(metadata, "merges")
        if rule not in RULES:
            raise Unknown(f"splitting rule '{rule}'; there are: {', '.join(RULES)}")
        if merges is None:
            raise Unknown("no merges")
        steps = RULES[rule]
        out["normalizer"] = None
        out["pre_tokenizer"] = steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}
        out["post_processor"] = None
        out["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        model = _bpe(vocabulary, [merge.split(" ", 1) for merge in merges], ignore_merges=rule == "llama-bpe")
    elif kind == "llama":
        scores = _get(metadata, "scores")
        if scores is None or len(scores) != len(tokens):
            raise Unknown("no scores, or not as many as tokens")
        prefix = _get(metadata, "add_space_prefix", True)
        steps = [{"type": "Prepend", "prepend": SPACE}] if prefix else []
        steps.append({"type": "Replace", "pattern": {"String": " "}, "content": SPACE})
        out["normalizer"] = {"type": "Sequence", "normalizers": steps}
        out["pre_tokenizer"], out["post_processor"] = None, None
        steps = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
                 {"type": "Fuse"}]
        if prefix:
            steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
        out["decoder"] = {"type": "Sequence", "decoders": steps}
        model = _bpe(vocabulary, _merges_from_scores(vocabulary, scores, types), unk_token=_special(metadata, "unknown"),
                     fuse_unk=True, byte_fallback=True)
    else:
        raise Unknown(f"tokenizer model '{kind}'; 'gpt2' and 'llama' are written")
    if _adds_bos(metadata):
        bos = _special(metadata, "bos")
        first = {"SpecialToken": {"id": bos, "type_id": 0}}
        out["post_processor"] = {
            "type": "TemplateProcessing", "single": [first, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [first, {"Sequence": {"id": "A", "type_id": 0}}, first, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {bos: {"id": bos, "ids": [vocabulary[bos]], "tokens": [bos]}}}
    out["model"] = model
    return out


def huggingface_config(metadata):
    """The content of tokenizer_config.json."""
    out = {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": bool(_adds_bos(metadata)),
           "clean_up_tokenization_spaces": False}
    for name, kind in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        out[f"{name}_token"] = _special(metadata, kind)
    if "tokenizer.chat_template" in metadata:
        out["chat_template"] = metadata["tokenizer.chat_template"]
    return out


def files(metadata):
    """{name of the file: its content}"""
    return {"tokenizer.json": huggingface(metadata), "tokenizer_config.json": huggingface_config(metadata),
            "tokenizer.ggml.json": facts(metadata)}


def convert(source, target):
    """tokenizer.json of the GGUF file `source`: for models/fetch."""
    import json

    import gguffile
    with open(target, "w", encoding="utf-8") as stream:
        json.dump(huggingface(gguffile.File(source).metadata), stream, ensure_ascii=False, indent=1)
        stream.write("\n")
