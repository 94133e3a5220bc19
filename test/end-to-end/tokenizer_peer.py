#!/usr/bin/env python3
"""Compares compiled tokenizers with Hugging Face's library, text by text, id by id.

usage: tokenizer_peer.py --program STINT-TEST-TOKENIZE --folder FOLDER [--count N] [--seed N]
       [NAME | FILE.json | FILE.gguf]...

For each tokenizer of tokenizer_models.py (all without names) and each file: N texts
encoded without and with special tokens, their ids and random ids decoded, at once and
as a stream. Prints a line for each, and the first differences; ends with 1 if any.
Needs the package tokenizers.
"""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys

import tokenizer_models
import tokenizer_texts


class Peer:
    def __init__(self, name, file, tokenizer, options):
        self.name, self.file, self.tokenizer, self.options = name, file, tokenizer, options
        self.bad = 0
        decoder = json.loads(tokenizer.to_str())["decoder"]
        self.decoders = {part["type"] for part in decoder.get("decoders", [decoder])}

    def run(self, mode, records):
        given, answer = (self.options.folder / f"{self.name}.{end}" for end in ("in", "out"))
        given.write_bytes(b"".join(records))
        done = subprocess.run([self.options.program, mode, self.file, given, answer], capture_output=True, text=True,
                              timeout=600, check=False)
        if done.returncode:
            raise SystemExit(f"{self.name}: {mode} ended with {done.returncode}: {done.stderr[-500:]}")
        return answer.read_bytes()

    def encode(self, mode, texts):
        raw = self.run(mode, (struct.pack("<I", len(text)) + text for text in (t.encode() for t in texts)))
        at = 0
        for _ in texts:
            count, = struct.unpack_from("<I", raw, at)
            yield list(struct.unpack_from(f"<{count}I", raw, at + 4))
            at += 4 + 4 * count

    def decode(self, mode, lists):
        raw = self.run(mode, (struct.pack(f"<{len(ids) + 1}I", len(ids), *ids) for ids in lists))
        at = 0
        for _ in lists:
            both = []
            for _ in range(2):
                size, = struct.unpack_from("<I", raw, at)
                both.append(raw[at + 4:at + 4 + size].decode())
                at += 4 + size
            yield both

    def expect(self, what, given, found, expected):
        if found == expected:
            return
        self.bad += 1
        if self.bad <= self.options.show:
            print(f"{self.name}: {what} of {given!a}\n  found    {found!a}\n  expected {expected!a}")

    def check(self):
        tokenizer, count = self.tokenizer, self.options.count
        added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        texts = tokenizer_texts.strings(count, self.options.seed, extra=added)
        lists = []
        for mode, special in (("encode", False), ("encode-special", True)):
            tokenizer.encode_special_tokens = not special
            expected = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=special)]
            for text, ids, right in zip(texts, self.encode(mode, texts), expected):
                self.expect(mode, text, ids, right)
            lists += expected if special else expected[:count // 4]
        rng = random.Random(self.options.seed)
        size = tokenizer.get_vocab_size()
        few = [i for i in range(size) if tokenizer.id_to_token(i) and len(tokenizer.decode([i])) < 2] or [0]
        for _ in range(count // 4):
            pool = few if rng.random() < 0.5 else range(size + 3)
            lists.append([rng.choice(pool) for _ in range(rng.randrange(12))])
        for mode, skip in (("decode", False), ("decode-skip", True)):
            expected = tokenizer.decode_batch(lists, skip_special_tokens=skip)
            for ids, (whole, stream), right in zip(lists, self.decode(mode, lists), expected):
                self.expect(mode, ids, whole, right)
                if right.count("\ufffd") and "ByteFallback" in self.decoders:
                    right = self.fallback_stream(ids, skip)
                self.expect(f"{mode}, as a stream,", ids, stream, right)
        print(f"{self.name}: {len(texts)} texts, {len(lists)} lists of ids, vocabulary {size}, {self.bad} differences",
              flush=True)
        return self.bad

    def fallback_stream(self, ids, skip):
        """Decodes with U+FFFD for each byte that is part of no character, instead of for whole runs of them."""
        special = {t.content for t in self.tokenizer.get_added_tokens_decoder().values() if t.special}
        text, run = [], b""
        for i in ids:
            token = self.tokenizer.id_to_token(i)
            if token is None or skip and token in special:
                continue
            if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
                run += bytes.fromhex(token[3:5])
                continue
            text += [run.decode("utf-8", "each-byte"), self.texts.get(i, token).replace("\u2581", " ")]
            run = b""
        text = "".join(text) + run.decode("utf-8", "each-byte")
        return text[1:] if "Strip" in self.decoders and text.startswith(" ") else text


def each_byte(error):
    return "\ufffd" * (error.end - error.start), error.end


def main():
    import codecs
    codecs.register_error("each-byte", each_byte)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="differences shown for each tokenizer")
    parser.add_argument("names", nargs="*", default=list(tokenizer_models.LEARNT))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    for name in options.names:
        if name.endswith(".gguf"):
            import tokenizer_gguf
            file, tokenizer = pathlib.Path(name), tokenizer_gguf.load(name)
            name = file.stem
        elif name.endswith(".json"):
            file, tokenizer = pathlib.Path(name), tokenizer_models.Tokenizer.from_file(name)
            name = file.stem
        else:
            file = options.folder / f"{name}.json"
            tokenizer = tokenizer_models.learn(name, file)
        peer = Peer(name, file, tokenizer, options)
        # Added tokens that the normaliser changes are decoded in their new form.
        peer.texts = {}
        if tokenizer.normalizer:
            peer.texts = {i: tokenizer.normalizer.normalize_str(token.content)
                          for i, token in tokenizer.get_added_tokens_decoder().items() if token.normalized}
        bad += peer.check()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
