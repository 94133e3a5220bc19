"""The tokenizer inside a GGUF file, put together for Hugging Face's library the way its own converters do."""
import pathlib
import sys

from tokenizer_models import LLAMA3, QWEN2, split
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import gguffile

UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4


def scored_merges(vocabulary, scores):
    """transformers' generate_merges."""
    merges = []
    for token, score in scores.items():
        ways = []
        for index in range(1, len(token)):
            left, right = token[:index], token[index:]
            if left in vocabulary and right in vocabulary:
                ways.append((left, right, score))
        merges += sorted(ways, key=lambda way: (vocabulary[way[0]], vocabulary[way[1]]))
    merges.sort(key=lambda way: (way[2], len(way[0]), len(way[1])), reverse=True)
    return [(left, right) for left, right, _ in merges]


def load(path):
    metadata = gguffile.File(path).metadata

    def value(key, otherwise=None):
        return metadata.get(f"tokenizer.ggml.{key}", otherwise)

    tokens, types = value("tokens"), value("token_type")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    begins = value("add_bos_token")
    if value("model") == "llama":
        scores = dict(zip(tokens, value("scores")))
        tokenizer = Tokenizer(models.BPE(vocabulary, scored_merges(vocabulary, scores), fuse_unk=True,
                                         byte_fallback=True, unk_token=tokens[value("unknown_token_id")]))
        prefix = value("add_space_prefix", True)
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("\u2581")] * prefix + [normalizers.Replace(" ", "\u2581")])
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()] +
            [decoders.Strip(" ", 1, 0)] * prefix)
        begins = True if begins is None else begins
    else:
        rule = value("pre")
        tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in value("merges")],
                                         ignore_merges=rule == "llama-bpe"))
        tokenizer.pre_tokenizer = {
            "gpt-2": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
            "smollm": lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)]),
            "llama-bpe": lambda: pre_tokenizers.Sequence(split(LLAMA3)),
            "qwen2": lambda: pre_tokenizers.Sequence(split(QWEN2)),
        }[rule]()
        if rule == "qwen2":
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.decoder = decoders.ByteLevel()
    for i, kind in enumerate(types):
        if kind in (UNKNOWN, CONTROL, USER_DEFINED):
            tokenizer.add_tokens([AddedToken(tokens[i], normalized=False, special=kind != USER_DEFINED)])
    if begins:
        bos = tokens[value("bos_token_id")]
        tokenizer.post_processor = processors.TemplateProcessing(f"{bos} $A", None, [(bos, value("bos_token_id"))])
    return tokenizer
