#!/usr/bin/env python3
"""Compares what compiled tokenizers know of each character with Hugging Face's library.

usage: tokenizer_characters.py --program STINT-TEST-TOKENIZE --folder FOLDER

For each set of characters, a tokenizer that drops all others, and one text of all
0x110000 characters but surrogates; for NFC, each character alone and beside marks.
"""
import argparse
import pathlib
import sys

import tokenizer_peer
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

ALL = [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000]
SETS = [r"\p{L}", r"\p{N}", r"\s", r"\p{M}", r"\p{P}", r"\p{S}", r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}",
        r"\d", r"\P{L}", r"[^\r\n\p{L}\p{N}]"]


def tokenizer(pattern, *before, normalizer=None):
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [*before, pre_tokenizers.Split(Regex(pattern), "removed", invert=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    return made


def cases():
    for pattern in SETS:
        yield pattern, tokenizer(pattern), "".join(ALL)
    # Where Digits cuts, "a" and the character are no longer one piece.
    yield "Digits", tokenizer(r"a[^\n]", pre_tokenizers.Digits(individual_digits=True)), "".join(
        f"a{c}\n" for c in ALL)
    yield "NFC", tokenizer(r"[^\r]|\r", normalizer=normalizers.NFC()), "".join(
        f"{c}\na{c}\na\u0315{c}\n\u0345{c}\u0334\n" for c in ALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bad = []
    for name, made, text in cases():
        file = options.folder / "characters.json"
        made.save(str(file))
        peer = tokenizer_peer.Peer("characters", file, made, options)
        # Bytes are tokens, so ids spell the characters that are left; in parts, for the library's sake.
        parts = [text[i:i + 200_000] for i in range(0, len(text), 200_000)]
        expected = [encoding.ids for encoding in made.encode_batch(parts, add_special_tokens=False)]
        if list(peer.encode("encode", parts)) != expected:
            bad.append(name)
        print(f"{name}: {'differs' if name in bad else 'all characters alike'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
