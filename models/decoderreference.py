"""A decoder of the Llama architecture in float64, written apart from what it checks.

    reference = Reference("model.gguf")
    reference.logits([1, 403, 407])      # float64 [tokens, vocabulary]
    reference.greedy([1], 200)           # the tokens that follow

The file is read and dequantised by PyPI's gguf; the rotation turns neighbours, in
GGUF's own order, as a product of complex numbers; everything is computed in one
pass over all tokens, and again with a cache of keys and values in greedy().
"""
import environment

environment.need("gguf==0.19.0", "numpy==2.4.6")
import gguf  # noqa: E402
import numpy as np  # noqa: E402


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Reference:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)

        def get(key, default=None):
            field = reader.fields.get(f"llama.{key}")
            return field.contents() if field else default

        self.weights = {tensor.name.removesuffix(".weight"):
                        gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
                        for tensor in reader.tensors}
        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv", self.heads)
        self.epsilon, self.base = get("attention.layer_norm_rms_epsilon"), get("rope.freq_base", 10000.0)
        self.head = get("embedding_length") // self.heads
        self.cache = None

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.epsilon) * self.weights[name]

    def turn(self, x, positions):
        """x: [tokens, heads, head]; the pair (x[2i], x[2i+1]) is the complex number that is turned."""
        angles = positions[:, None] * self.base ** (-np.arange(0, self.head, 2) / self.head)
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)[:, None, :]
        return np.stack((pairs.real, pairs.imag), axis=-1).reshape(x.shape)

    def attention(self, layer, x, positions):
        def project(part, heads):
            return (x @ self.weights[f"blk.{layer}.attn_{part}"].T).reshape(len(x), heads, self.head)

        q = self.turn(project("q", self.heads), positions)
        k, v = self.turn(project("k", self.kv_heads), positions), project("v", self.kv_heads)
        if self.cache is not None:
            if layer in self.cache:
                k, v = (np.concatenate(pair) for pair in zip(self.cache[layer], (k, v)))
            self.cache[layer] = k, v
        hidden = np.arange(len(k))[None, :] > positions[:, None]
        out = np.empty_like(q)
        for head in range(self.heads):
            group = head * self.kv_heads // self.heads
            scores = q[:, head] @ k[:, group].T / np.sqrt(self.head)
            out[:, head] = softmax(np.where(hidden, -np.inf, scores)) @ v[:, group]
        return out.reshape(len(x), -1) @ self.weights[f"blk.{layer}.attn_output"].T

    def logits(self, tokens, past=0):
        positions = np.arange(past, past + len(tokens))
        x = self.weights["token_embd"][np.asarray(tokens)]
        for layer in range(self.layers):
            name = f"blk.{layer}"
            x = x + self.attention(layer, self.norm(x, f"{name}.attn_norm"), positions)
            y = self.norm(x, f"{name}.ffn_norm")
            gate = y @ self.weights[f"{name}.ffn_gate"].T
            inner = gate / (1 + np.exp(-gate)) * (y @ self.weights[f"{name}.ffn_up"].T)
            x = x + inner @ self.weights[f"{name}.ffn_down"].T
        head = self.weights.get("output", self.weights["token_embd"])
        return self.norm(x, "output_norm") @ head.T

    def greedy(self, tokens, count):
        self.cache, out, given = {}, [], list(tokens)
        try:
            while len(out) < count:
                out.append(int(self.logits(given, len(tokens) + len(out) - len(given))[-1].argmax()))
                given = out[-1:]
        finally:
            self.cache = None
        return out
