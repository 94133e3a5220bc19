"""Two spellings of one decoder as ONNX graphs, each node named as its exporter names it.

Genai      onnxruntime-genai's model builder for the CPU (its builders/base.py): opset 21
           and com.microsoft; packed q, k, v; the rotation inside GroupQueryAttention;
           MatMulNBits and GatherBlockQuantized with the weights' own bits, or MatMul.
Standard   ONNX's own operators of opset 23: RMSNormalization, RotaryEmbedding,
           Attention with past and present; float32 weights.

    inputs   input_ids [batch, sequence], attention_mask [batch, total], i64
             position_ids [batch, sequence], i64                     (Standard only)
             past_key_values.N.key, .value [batch, kv heads, past, head]
    outputs  logits [batch, sequence, vocabulary]
             present.N.key, .value [batch, kv heads, total, head]

A method returns the name of its result.
"""
import decimal
import math

import numpy as np

import onnxfile as onnx
import onnxstream

MICROSOFT = "com.microsoft"


class Graph:
    """Collects nodes and weights; what both spellings share."""

    opset, ir, domains, positions = 21, 10, (), False

    def __init__(self, weights, context=None):
        self.source, self.config = weights, weights.config
        self.context = context or self.config.context
        self.nodes, self.weights, self.known = [], [], set()

    def node(self, name, kind, *inputs, outputs=None, domain="", **attributes):
        outputs = outputs or [f"{name}/output_0"]
        self.nodes.append(onnx.node(kind, inputs, outputs, name, domain, **attributes))
        return outputs[0]

    def weight(self, name, dims, kind, parts):
        if name not in self.known:
            self.known.add(name)
            self.weights.append(onnxstream.Weight(name, dims, kind, parts))
        return name

    def array(self, name, values):
        return self.weight(name, values.shape, onnx.FLOAT, lambda: [np.ascontiguousarray(values).data])

    def integers(self, *values):
        """A constant list."""
        return self._constant(f"[{', '.join(map(str, values))}]", [len(values)], values)

    def integer(self, value):
        return self._constant(str(value), [], [value])

    def _constant(self, text, dims, values):
        name = f"/model/constants/INT64/{text}"
        if name not in self.known:
            self.known.add(name)
            self.nodes.append(onnx.node("Constant", [], [name], name.replace("constants", "constant_nodes"),
                                        value=onnx.tensor(name, dims, values, onnx.INT64)))
        return name

    def transposed(self, name, matrices):
        """float32 [columns, rows of all the matrices], as MatMul wants it."""
        if len(matrices) == 1:
            matrix, = matrices
            return self.weight(name, [matrix.columns, matrix.rows], onnx.FLOAT,
                               lambda: (piece.data for piece in matrix.transposed_pieces()))
        rows, columns = sum(matrix.rows for matrix in matrices), matrices[0].columns
        return self.weight(name, [columns, rows], onnx.FLOAT, lambda: [np.ascontiguousarray(
            np.concatenate([matrix.floats() for matrix in matrices]).T).data])

    def rotary_caches(self):
        """cos and sin [context, head / 2] of position · base^(-2i / head), the same on every machine."""
        half = self.config.turned // 2
        with decimal.localcontext(prec=40):  # a last bit of the C library's pow would show at large positions
            base = decimal.Decimal(self.config.base)
            steps = [float(base ** (decimal.Decimal(-i) / half)) for i in range(half)]
        steps += [0.0] * (self.config.head // 2 - half)

        def values(function):
            return np.array([[function(position * step) for step in steps] for position in range(self.context)],
                            np.float32)

        return self.array("cos_cache", values(math.cos)), self.array("sin_cache", values(math.sin))

    def mlp(self, scope, layer, x):
        gate = self.linear(f"{scope}/mlp/gate_proj/MatMul", x, f"blk.{layer}.ffn_gate")
        up = self.linear(f"{scope}/mlp/up_proj/MatMul", x, f"blk.{layer}.ffn_up")
        sigmoid = self.node(f"{scope}/mlp/act_fn/Sigmoid", "Sigmoid", gate)
        active = self.node(f"{scope}/mlp/act_fn/Mul", "Mul", gate, sigmoid)
        return self.linear(f"{scope}/mlp/down_proj/MatMul", self.node(f"{scope}/mlp/Mul", "Mul", active, up),
                           f"blk.{layer}.ffn_down")

    def ports(self):
        c, tokens = self.config, ["batch_size", "sequence_length"]
        inputs = [onnx.value("input_ids", tokens, onnx.INT64),
                  onnx.value("attention_mask", ["batch_size", "total_sequence_length"], onnx.INT64)]
        if self.positions:
            inputs.append(onnx.value("position_ids", tokens, onnx.INT64))
        outputs = [onnx.value("logits", [*tokens, c.vocabulary])]
        for layer in range(c.layers):
            for part in ("key", "value"):
                inputs.append(onnx.value(f"past_key_values.{layer}.{part}",
                                         ["batch_size", c.kv_heads, "past_sequence_length", c.head]))
                outputs.append(onnx.value(f"present.{layer}.{part}",
                                          ["batch_size", c.kv_heads, "total_sequence_length", c.head]))
        return inputs, outputs

    def build(self):
        raise NotImplementedError

    def write(self, path, external=None):
        self.build()
        inputs, outputs = self.ports()
        onnxstream.write(path, self.nodes, inputs, outputs, self.weights, opset=self.opset, ir=self.ir,
                         domains=self.domains, name="main_graph", producer="models/make-decoder", external=external)


class Genai(Graph):
    opset, ir, domains = 21, 10, ((MICROSOFT, 1),)

    def __init__(self, weights, context=None, quantised=True):
        super().__init__(weights, context)
        self.quantised = quantised

    def linear(self, name, x, *matrices, output=None):
        """`matrices`: names in the GGUF file; several are one layer whose results follow each other."""
        matrices = [self.source.head() if matrix == "head" else self.source.matrix(matrix) for matrix in matrices]
        outputs = [output] if output else None
        if not self.quantised or matrices[0].form is None:
            weight = self.transposed(name[1:].replace("/", ".") + ".weight", matrices)
            return self.node(name, "MatMul", x, weight, outputs=outputs)
        bits, block, _ = matrices[0].form
        columns, rows = matrices[0].columns, sum(matrix.rows for matrix in matrices)
        attributes = dict(accuracy_level=0, bits=bits, block_size=block, K=columns, N=rows)
        return self.node(name + "NBits", "MatMulNBits", x, *self.packed(name, matrices), outputs=outputs,
                         domain=MICROSOFT, **attributes)

    def packed(self, name, matrices):
        """The initializers of the quantised weights: their names."""
        bits, block, zero = matrices[0].form
        rows, count = sum(matrix.rows for matrix in matrices), matrices[0].columns // block
        stem = name[1:].replace("/", ".") + "NBits"

        def parts(get):
            def pieces():
                for matrix in matrices:
                    for piece in matrix.pieces():
                        yield np.ascontiguousarray(get(matrix.blocks(piece))).data
            return pieces

        names = [self.weight(stem + ".qweight", [rows, count, block * bits // 8], onnx.UINT8,
                             parts(lambda blocks: blocks.packed())),
                 self.weight(stem + ".scales", [rows, count], onnx.FLOAT, parts(lambda blocks: blocks.scale))]
        if zero is None:  # each block has its own
            names.append(self.weight(stem + ".qzeros", [rows, count], onnx.FLOAT, parts(lambda blocks: blocks.zero)))
        elif zero != 1 << (bits - 1):  # Q5_0: 16 where 128 is what a missing input means
            size = count * bits // 8
            names.append(self.weight(stem + ".qzeros", [rows, size], onnx.UINT8, lambda: [bytes([zero]) * rows * size]))
        return names

    def embedding(self):
        scope, matrix, tied = "/model/embed_tokens", self.source.matrix("token_embd"), self.config.tied
        # GatherBlockQuantized takes whole zero points only; without any it takes those of the bits' middle.
        bits, block, zero = matrix.form or (0, 0, None)
        if self.quantised and zero == 1 << (bits - 1 if bits else 0):
            qweight, scales = self.packed("/lm_head/MatMul" if tied else f"{scope}/Gather", [matrix])
            flat = self.node(f"{scope}/Reshape", "Reshape", qweight,
                             self.integers(matrix.rows, matrix.columns * bits // 8))
            return self.node(f"{scope}/GatherBlockQuantized", "GatherBlockQuantized", flat, "input_ids", scales,
                             domain=MICROSOFT, bits=bits, block_size=block, gather_axis=0, quantize_axis=1)
        if tied and not self.quantised:
            table = self.node(f"{scope}/Transpose", "Transpose", self.transposed("lm_head.MatMul.weight", [matrix]),
                              perm=[1, 0])
        else:
            table = self.weight("model.embed_tokens.weight", [matrix.rows, matrix.columns], onnx.FLOAT,
                                lambda: (np.ascontiguousarray(matrix.floats(rows)).data for rows in matrix.pieces()))
        return self.node(f"{scope}/Gather", "Gather", table, "input_ids")

    def lengths(self):
        """seqlens_k, the last position of each sequence, and the width of the mask."""
        scope = "/model/attn_mask_reformat/attn_mask_subgraph"
        count = self.node(f"{scope}/ReduceSum", "ReduceSum", "attention_mask", self.integers(1), keepdims=0)
        last = self.node(f"{scope}/Sub", "Sub", count, self.integers(1))
        last = self.node(f"{scope}/Sub/Cast", "Cast", last, to=onnx.INT32)
        shape = self.node(f"{scope}/Shape", "Shape", "attention_mask")
        total = self.node(f"{scope}/Gather", "Gather", shape, self.integer(1), axis=0)
        return last, self.node(f"{scope}/Gather/Cast", "Cast", total, to=onnx.INT32)

    def norm(self, layer, location, root, skip, gamma, is_last=False):
        """-> normalised sum, sum"""
        scope = f"/model/layers.{layer}/{location}_layernorm"
        gamma = self.array(f"model.layers.{layer}.{location}_layernorm.weight", self.source.vector(gamma))
        if skip is None:
            return self.node(f"{scope}/LayerNorm", "SimplifiedLayerNormalization", root, gamma,
                             outputs=[f"{scope}/output_0"], epsilon=self.config.epsilon, axis=-1, stash_type=1), root
        outputs = [f"{scope}/output_0"] + ([] if is_last else ["", "", f"{scope}/output_3"])
        self.node(f"{scope}/SkipLayerNorm", "SkipSimplifiedLayerNormalization", root, skip, gamma, outputs=outputs,
                  domain=MICROSOFT, epsilon=self.config.epsilon)
        return outputs[0], outputs[-1]

    def attention(self, layer, x, lengths, caches):
        c, scope = self.config, f"/model/layers.{layer}/attn"
        parts = [f"blk.{layer}.attn_{part}" for part in "qkv"]
        kinds = {self.source.matrix(part).kind for part in parts}
        if len(kinds) == 1 or not self.quantised:
            qkv = [self.linear(f"{scope}/qkv_proj/MatMul", x, *parts), "", ""]
        else:
            qkv = [self.linear(f"{scope}/{part[-1]}_proj/MatMul", x, part) for part in parts]
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        name = f"{scope}/GroupQueryAttention"
        mixed = self.node(name, "GroupQueryAttention", *qkv, *past, *lengths, *caches, "", "", "",
                          outputs=[f"{name}/output_0", *present], domain=MICROSOFT, num_heads=c.heads,
                          kv_num_heads=c.kv_heads, scale=c.scale, local_window_size=-1, softcap=0.0,
                          do_rotary=1, rotary_interleaved=int(self.source.rotary == "interleaved"))
        return self.linear(f"{scope}/o_proj/MatMul", mixed, f"blk.{layer}.attn_output")

    def build(self):
        lengths, caches = self.lengths(), self.rotary_caches()
        root, skip, count = self.embedding(), None, self.config.layers
        for layer in range(count):
            x, root = self.norm(layer, "input", root, skip, f"blk.{layer}.attn_norm")
            skip = self.attention(layer, x, lengths, caches)
            x, root = self.norm(layer, "post_attention", root, skip, f"blk.{layer}.ffn_norm")
            skip = self.mlp(f"/model/layers.{layer}", layer, x)
        x, _ = self.norm(count, "final_norm", root, skip, "output_norm", is_last=True)
        self.linear("/lm_head/MatMul", x, "head", output="logits")


class Standard(Graph):
    opset, ir, positions = 23, 11, True

    def linear(self, name, x, matrix):
        weight = self.transposed(name[1:].replace("/", ".") + ".weight", [self.source.matrix(matrix)])
        return self.node(name, "MatMul", x, weight)

    def norm(self, scope, x, gamma):
        gamma = self.array(f"{scope[1:].replace('/', '.')}.weight", self.source.vector(gamma))
        return self.node(f"{scope}/RMSNormalization", "RMSNormalization", x, gamma, axis=-1, stash_type=1,
                         epsilon=self.config.epsilon)

    def table(self, name, matrix):
        return self.weight(name, [matrix.rows, matrix.columns], onnx.FLOAT,
                           lambda: (np.ascontiguousarray(matrix.floats(rows)).data for rows in matrix.pieces()))

    def attention(self, layer, x, mask, caches):
        c, scope = self.config, f"/model/layers.{layer}/self_attn"
        q, k, v = (self.linear(f"{scope}/{part}_proj/MatMul", x, f"blk.{layer}.attn_{part}") for part in "qkv")
        turned = int(self.source.rotary == "interleaved")
        q = self.node(f"{scope}/q_rotary/RotaryEmbedding", "RotaryEmbedding", q, *caches, "position_ids",
                      num_heads=c.heads, interleaved=turned)
        k = self.node(f"{scope}/k_rotary/RotaryEmbedding", "RotaryEmbedding", k, *caches, "position_ids",
                      num_heads=c.kv_heads, interleaved=turned)
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        mixed = self.node(f"{scope}/Attention", "Attention", q, k, v, mask, *past,
                          outputs=[f"{scope}/Attention/output_0", *present], q_num_heads=c.heads,
                          kv_num_heads=c.kv_heads, scale=c.scale)
        return self.linear(f"{scope}/o_proj/MatMul", mixed, f"blk.{layer}.attn_output")

    def mask(self):
        """[batch, 1, sequence, total]: what a token may see, as transformers spells it when it is exported."""
        scope = "/model/mask"

        def extent(name, tensor, axis):
            shape = self.node(f"{scope}/{name}/Shape", "Shape", tensor)
            return self.node(f"{scope}/{name}/Gather", "Gather", shape, self.integer(axis), axis=0)

        past, count = extent("past", "past_key_values.0.key", 2), extent("sequence", "input_ids", 1)
        total = self.node(f"{scope}/total/Add", "Add", past, count)
        rows = self.node(f"{scope}/rows/Range", "Range", past, total, self.integer(1))
        rows = self.node(f"{scope}/rows/Unsqueeze", "Unsqueeze", rows, self.integers(1))
        columns = self.node(f"{scope}/columns/Range", "Range", self.integer(0), total, self.integer(1))
        causal = self.node(f"{scope}/LessOrEqual", "LessOrEqual", columns, rows)
        present = self.node(f"{scope}/Cast", "Cast", "attention_mask", to=onnx.BOOL)
        present = self.node(f"{scope}/Unsqueeze", "Unsqueeze", present, self.integers(1, 2))
        return self.node(f"{scope}/And", "And", causal, present)

    def build(self):
        caches, mask = self.rotary_caches(), self.mask()
        embedding = self.table("model.embed_tokens.weight", self.source.matrix("token_embd"))
        x = self.node("/model/embed_tokens/Gather", "Gather", embedding, "input_ids")
        for layer in range(self.config.layers):
            scope = f"/model/layers.{layer}"
            normal = self.norm(f"{scope}/input_layernorm", x, f"blk.{layer}.attn_norm")
            x = self.node(f"{scope}/Add", "Add", x, self.attention(layer, normal, mask, caches))
            normal = self.norm(f"{scope}/post_attention_layernorm", x, f"blk.{layer}.ffn_norm")
            x = self.node(f"{scope}/Add_1", "Add", x, self.mlp(scope, layer, normal))
        x = self.norm("/model/norm", x, "output_norm")
        head = embedding if self.config.tied else self.table("lm_head.weight", self.source.head())
        head = self.node("/lm_head/Transpose", "Transpose", head, perm=[1, 0])
        self.node("/lm_head/MatMul", "MatMul", x, head, outputs=["logits"])


SPELLINGS = {"genai": Genai, "standard": Standard}
