"""Tokenizers to compare with: each is a file that the compiler reads, and the
same tokenizer in Hugging Face's library.

The vocabularies are learnt here, in a second each, with the splitting rules and
settings of well-known models; those inside GGUF files are taken as they are.
"""
import json

import tokenizer_texts
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CASELESS + r"\p{N}{1,3}" + REST
QWEN2 = CASELESS + r"\p{N}" + REST
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
MARKERS = ["<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot|>", "<|eot_id|>"]


def split(pattern):
    return [pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]


def learn_byte_level(splitters, normalizer=None, size=3000, alphabet=True, **settings):
    tokenizer = Tokenizer(models.BPE(**settings))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splitters) if len(splitters) > 1 else splitters[0]
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=["<|endoftext|>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [])
    tokenizer.train_from_iterator(tokenizer_texts.prose() + tokenizer_texts.catalogues(), trainer)
    tokenizer.add_special_tokens(MARKERS)
    return tokenizer


def gpt2():
    return learn_byte_level([pre_tokenizers.ByteLevel(add_prefix_space=False)])


def gpt2_prefix():
    """As RoBERTa has it, with a letter of its alphabet missing, an unknown token and added tokens of all kinds."""
    tokenizer = learn_byte_level([pre_tokenizers.ByteLevel(add_prefix_space=True)], alphabet=False)
    tokenizer.add_tokens([AddedToken("[left]", lstrip=True, normalized=False), AddedToken("[right]", rstrip=True),
                          AddedToken("[both]", lstrip=True, rstrip=True, normalized=False), "é", "\n\n", "[le", "  ",
                          AddedToken("<mask>", lstrip=True, special=True), AddedToken("[left]]", normalized=True)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def smollm():
    return learn_byte_level([pre_tokenizers.Digits(individual_digits=True),
                             pre_tokenizers.ByteLevel(add_prefix_space=False)])


def digit_runs():
    return learn_byte_level([pre_tokenizers.Digits(individual_digits=False), *split(r"\s?\p{L}{2,5}|\d{2}|[^a-z\]-]+"),
                             ], unk_token="<|endoftext|>", fuse_unk=True, alphabet=False, size=600)


def llama3():
    tokenizer = learn_byte_level(split(LLAMA3), ignore_merges=True)
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A $B",
                                      [("<|begin_of_text|>", begin)])])
    return tokenizer


def qwen2():
    tokenizer = learn_byte_level(split(QWEN2), normalizers.NFC())
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    return tokenizer


def gpt4o():
    return learn_byte_level(split(GPT4O))


def removed():
    """As some conversions of tiktoken have it: what doesn't match is dropped."""
    return learn_byte_level([pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}| \p{P}(?=\p{L})"), "removed", invert=True),
                             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def learn_pieces(pieces=None, fallback=True, **settings):
    """SentencePiece's kind: characters, spaces as U+2581, unknown ones as their bytes."""
    begin = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256) if fallback]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=fallback, **settings))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.train_from_iterator(tokenizer_texts.prose() + tokenizer_texts.catalogues(50_000), trainers.BpeTrainer(
        vocab_size=2000, special_tokens=begin, limit_alphabet=300, show_progress=False))
    return tokenizer, begin


def with_decoder(tokenizer, begin, prepend):
    parts = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(parts + ([decoders.Strip(" ", 1, 0)] if prepend else []))
    data = json.loads(tokenizer.to_str())
    # The bytes are tokens of the vocabulary, not added ones.
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] in begin[:3]]
    return Tokenizer.from_str(json.dumps(data))


def llama2():
    tokenizer, begin = learn_pieces(fuse_unk=True)
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer = with_decoder(tokenizer, begin, True)
    tokenizer.add_tokens([AddedToken("<tag>", normalized=True), AddedToken("[raw]", normalized=False, rstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 1), ("</s>", 2)])
    return tokenizer


def metaspace(scheme, parted):
    tokenizer, begin = learn_pieces(fallback=parted, fuse_unk=not parted)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=parted)
    tokenizer = with_decoder(tokenizer, begin, False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.add_tokens([AddedToken("[raw]", normalized=False, lstrip=True)])
    return tokenizer


def gemma():
    tokenizer, begin = learn_pieces()
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return with_decoder(tokenizer, begin, False)


LEARNT = {
    "gpt2": gpt2,
    "gpt2-prefix": gpt2_prefix,
    "smollm": smollm,
    "digit-runs": digit_runs,
    "llama3": llama3,
    "qwen2": qwen2,
    "gpt4o": gpt4o,
    "removed": removed,
    "llama2": llama2,
    "metaspace-first": lambda: metaspace("first", True),
    "metaspace-always": lambda: metaspace("always", False),
    "metaspace-never": lambda: metaspace("never", True),
    "gemma": gemma,
}


def learn(name, path):
    """Writes tokenizer.json and returns the tokenizer that Hugging Face reads from it."""
    LEARNT[name]().save(str(path))
    return Tokenizer.from_file(str(path))
