"""What a decoder of the Llama architecture is made of, read from a GGUF file.

    weights = Weights(gguffile.File(path), rotary="halves")
    weights.config.layers, weights.matrix("blk.0.attn_q").blocks(0, 64), ...

Rotation of queries and keys: GGUF's "llama" architecture keeps the rows of q and
k in an order in which the rotation turns neighbours, (0, 1), (2, 3), …; Hugging
Face's order, and what exporters write, turns the halves of a head, (0, h/2), (1,
h/2 + 1), …. Either is right with the other attribute of the operator; the order
of the heads' elements, and so of the keys in the cache, differs. `rotary` says
which one comes out: "halves" sorts the rows, "interleaved" leaves them. Rows are
whole in every block type, so sorting them changes no weight.

Heads can be made wider by zeros that the rotation and the products leave zeros, for
runtimes that take some sizes only (ONNX Runtime's GroupQueryAttention: multiples of
16). The scale stays that of the narrow heads. Such matrices are float32.

numpy only.
"""
import dataclasses
import math

import numpy as np

import ggufblocks
import gguffile

PIECE = 1 << 22  # weights that are worked on at a time


class Unsupported(Exception):
    """A model that this script doesn't build, and why."""


@dataclasses.dataclass
class Config:
    name: str
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    turned: int  # elements of a head that the rotation turns; what follows, in each half for "halves", is zeros
    scale: float  # of the products of queries and keys
    vocabulary: int
    context: int
    base: float
    epsilon: float
    tied: bool


def read_config(file):
    meta = file.metadata
    kind = meta.get("general.architecture")
    if kind != "llama":
        raise Unsupported(f"architecture '{kind}'; only 'llama' is built")

    def need(key):
        if f"llama.{key}" not in meta:
            raise Unsupported(f"no llama.{key} in the metadata")
        return meta[f"llama.{key}"]

    if "token_embd.weight" not in file.tensors:
        raise Unsupported("no token_embd.weight")
    width, heads = need("embedding_length"), need("attention.head_count")
    kv_heads = meta.get("llama.attention.head_count_kv", heads)
    head = meta.get("llama.attention.key_length", width // heads)
    if heads % kv_heads or head % 2:
        raise Unsupported(f"{heads} heads of {head} over {kv_heads} heads of keys")
    if meta.get("llama.rope.dimension_count", head) != head:
        raise Unsupported(f"rotation of {meta['llama.rope.dimension_count']} of {head} elements")
    strange = [name for name in file.tensors if name.endswith(".bias") or "rope_freqs" in name or "_exps" in name]
    strange += [key for key in meta if ".rope.scaling." in key]
    if strange:
        raise Unsupported(f"{strange[0]}")
    return Config(name=str(meta.get("general.name", "decoder")), layers=need("block_count"), width=width,
                  inner=need("feed_forward_length"), heads=heads, kv_heads=kv_heads, head=head,
                  turned=head, scale=1 / math.sqrt(head), vocabulary=file.tensors["token_embd.weight"].dims[0], context=need("context_length"),
                  base=float(meta.get("llama.rope.freq_base", 10000.0)), epsilon=need("attention.layer_norm_rms_epsilon"),
                  tied="output.weight" not in file.tensors)


class Matrix:
    """[rows, columns] of a linear layer: y = x · wᵀ. Pieces are computed when they are asked for."""

    def __init__(self, tensor, order=None):
        if len(tensor.dims) != 2 or not ggufblocks.is_known(tensor.kind):
            raise Unsupported(f"{tensor.name}: {tensor.kind} with {len(tensor.dims)} dimensions")
        self.kind, (self.rows, self.columns) = tensor.kind, tensor.dims
        self.raw = np.frombuffer(tensor.data, np.uint8).reshape(self.rows, -1)
        self.order, self.release = order, tensor.release
        self.form = ggufblocks.FORMS.get(self.kind)  # (bits, block, common zero) or None for floats

    def _bytes(self, rows):
        return np.ascontiguousarray(self.raw[rows if self.order is None else self.order[rows]])

    def pieces(self):
        """Slices of the rows, PIECE values each; done with one when the next is asked for."""
        step = max(1, PIECE // self.columns)
        for first in range(0, self.rows, step):
            yield slice(first, min(first + step, self.rows))
            self.release()

    def floats(self, rows=slice(None)):
        return ggufblocks.floats(self.kind, self._bytes(rows))

    def blocks(self, rows):
        return ggufblocks.blocks(self.kind, self._bytes(rows))

    def transposed_pieces(self):
        """float32 pieces [some columns, rows], a whole number of blocks each."""
        name, block, size = gguffile.TYPES[gguffile.NUMBERS[self.kind]]
        step = max(1, PIECE // self.rows // block)
        for first in range(0, self.columns // block, step):
            raw = self.raw[:, first * size:(first + step) * size]
            raw = np.ascontiguousarray(raw if self.order is None else raw[self.order])
            yield np.ascontiguousarray(ggufblocks.floats(name, raw).T)
            self.release()


class Dense(Matrix):
    """A float32 matrix that was computed."""

    def __init__(self, values):
        self.kind, self.order, self.form, (self.rows, self.columns) = "F32", None, None, values.shape
        self.raw, self.release = np.ascontiguousarray(values, np.float32).view(np.uint8), lambda: None


class Weights:
    """`head_size`: that of the widened heads, or None to leave them as they are."""

    def __init__(self, file, rotary="halves", head_size=None):
        self.file, self.config, self.rotary = file, read_config(file), rotary
        self._check()
        if head_size is not None:
            if head_size < self.config.head or head_size % 2:
                raise Unsupported(f"heads of {self.config.head} can't have size {head_size}")
            self.config.head = head_size

    def _check(self):
        file, c = self.file, self.config
        shapes = {"attn_q": (c.heads * c.head, c.width), "attn_k": (c.kv_heads * c.head, c.width),
                  "attn_v": (c.kv_heads * c.head, c.width), "attn_output": (c.width, c.heads * c.head),
                  "ffn_gate": (c.inner, c.width), "ffn_up": (c.inner, c.width), "ffn_down": (c.width, c.inner),
                  "attn_norm": (c.width,), "ffn_norm": (c.width,)}
        expected = {f"blk.{layer}.{part}.weight": dims for layer in range(c.layers) for part, dims in shapes.items()}
        expected |= {"token_embd.weight": (c.vocabulary, c.width), "output_norm.weight": (c.width,)}
        if not c.tied:
            expected["output.weight"] = (c.vocabulary, c.width)
        for name, dims in expected.items():
            if name not in file.tensors:
                raise Unsupported(f"no tensor {name}")
            if file.tensors[name].dims != dims:
                raise Unsupported(f"{name} is {file.tensors[name].dims}, expected {dims}")

    def matrix(self, name):
        c, order, part = self.config, None, name.rpartition(".")[2]
        if self.rotary == "halves" and part in ("attn_q", "attn_k"):
            heads = c.heads if part == "attn_q" else c.kv_heads
            order = np.arange(heads * c.turned).reshape(heads, -1, 2).transpose(0, 2, 1).reshape(-1)
        matrix = Matrix(self.file.tensors[name + ".weight"], order)
        if c.head == c.turned or not part.startswith("attn_"):
            return matrix
        if part == "attn_output":
            return Dense(self._widened(matrix.floats().T, part).T)
        return Dense(self._widened(matrix.floats(), part))

    def _widened(self, values, part):
        """Rows of heads [heads * turned, n] -> [heads * head, n]."""
        pieces = 2 if self.rotary == "halves" and part in ("attn_q", "attn_k") else 1
        values = values.reshape(-1, self.config.turned // pieces, values.shape[1])
        zeros = (self.config.head - self.config.turned) // pieces
        return np.pad(values, ((0, 0), (0, zeros), (0, 0))).reshape(-1, values.shape[2])

    def head(self):
        return self.matrix("token_embd" if self.config.tied else "output")

    def vector(self, name):
        tensor = self.file.tensors[name + ".weight"]
        return ggufblocks.floats(tensor.kind, np.frombuffer(tensor.data, np.uint8)[None])[0].astype(np.float32)
