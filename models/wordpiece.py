"""Sentences to tokens as BERT's uncased models want them. Standard library only.

Basic tokens: lower case, accents off, split at white space and punctuation, CJK
characters alone. Each is then cut into the longest pieces the vocabulary has,
from the left; pieces inside a word begin with "##".
"""
import array
import pathlib
import unicodedata


def is_punctuation(character):
    code = ord(character)
    ascii_marks = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_marks or unicodedata.category(character).startswith("P")


def is_alone(character):
    """CJK ideographs, which aren't separated by spaces."""
    code = ord(character)
    return (0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF
            or 0x20000 <= code <= 0x2CEAF or 0x2F800 <= code <= 0x2FA1F)


def words(text):
    word = ""
    for character in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(character)
        if category == "Mn":
            continue
        if character.isspace():
            ends, alone = True, False
        elif category.startswith("C"):
            continue
        else:
            ends = alone = is_punctuation(character) or is_alone(character)
        if not ends:
            word += character
            continue
        if word:
            yield word
        word = ""
        if alone:
            yield character
    if word:
        yield word


class Vocabulary:
    def __init__(self, path):
        lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
        self.numbers = {line.rstrip("\r"): number for number, line in enumerate(lines) if line}

    def pieces(self, word):
        start, found = 0, []
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if prefix + word[start:end] in self.numbers:
                    break
            else:
                return ["[UNK]"]
            found.append(prefix + word[start:end])
            start = end
        return found

    def tokens(self, sentence, most=None):
        """Numbers from [CLS] to [SEP]; cut to `most` of them."""
        pieces = [piece for word in words(sentence) for piece in self.pieces(word)]
        if most is not None:
            pieces = pieces[:max(0, most - 2)]
        return [self.numbers[piece] for piece in ["[CLS]", *pieces, "[SEP]"]][:most]

    def inputs(self, sentences, length=None):
        """The three inputs of the encoder, padded to the longest sentence, or cut and padded to `length`:
        {name: (shape, values)}"""
        rows = [self.tokens(sentence, length) for sentence in sentences]
        width = length or max(map(len, rows))
        shape = (len(rows), width)
        tokens, mask = array.array("q"), array.array("q")
        for row in rows:
            tokens.extend(row + [self.numbers["[PAD]"]] * (width - len(row)))
            mask.extend([1] * len(row) + [0] * (width - len(row)))
        return {"input_ids": (shape, tokens), "attention_mask": (shape, mask),
                "token_type_ids": (shape, array.array("q", bytes(8 * len(tokens))))}
