"""A decoder's GGUF file to ONNX: models/fetch and models/make-decoder call it.

    convert(source, target, spelling="genai", weights="packed", rotary="halves")

spelling   "genai" (onnxruntime-genai's) or "standard" (opset 23): decoderspellings.py
weights    "packed": the file's own 4- and 8-bit blocks (genai only); "float32"
rotary     "halves" or "interleaved": decoderweights.py
head_size  that of heads which are made wider by zeros, or None
context    positions that the tables of the rotation have; None: as the file says

numpy, and otherwise Python's standard library: equal GGUF files give equal bytes.
"""
import sys

import environment

WEIGHTS = ("packed", "float32")
ROTARY = ("halves", "interleaved")


def graph(source, spelling="genai", weights="packed", rotary="halves", head_size=None, context=None):
    """The graph of the GGUF file `source`, not built yet."""
    if sys.byteorder != "little":
        sys.exit("decoder: only on little-endian machines")
    environment.need_numpy()
    import decoderspellings
    import decoderweights
    import gguffile
    model = decoderweights.Weights(gguffile.File(source), rotary, head_size)
    if spelling == "standard":
        if weights == "packed":
            raise decoderweights.Unsupported("opset 23 has no operator for packed weights with float zero points; "
                                             "the standard spelling takes float32 weights")
        return decoderspellings.Standard(model, context)
    return decoderspellings.Genai(model, context, quantised=weights == "packed")


def convert(source, target, external=None, **options):
    graph(source, **options).write(target, external)
