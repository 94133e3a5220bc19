"""Weights of 4 and 8 bits in blocks run as they are: every form of MatMulNBits and GatherBlockQuantized on one model,
against double precision, with activations of 32 and of 8 bits (whose rounding the reference does too); the same bits
for a token whatever is computed beside it, by any number of threads."""
import random
import struct

import onnxfile as onnx
import support
from onnxfile import FLOAT, INT4, INT8, INT64, UINT4, UINT8

FOLDER = support.folder("block-weights")
K, MOST = 72, 130  # no multiple of any block but 8
# bits, block size, zero points (none, packed, floats), columns, bias
FORMS = ((4, 16, "none", 37, False), (4, 32, "floats", 96, True), (4, 64, "packed", 20, False),
         (4, 256, "packed", 1, False), (8, 16, "packed", 33, True), (8, 32, "none", 64, False),
         (8, 128, "floats", 17, False))
EXACT = 1e-5  # of the largest element, against double precision


class Weights:
    """Random numbers of one form; `value(column, k)` is what they mean."""

    def __init__(self, seed, bits, block, zeros, columns):
        chance = random.Random(seed)
        self.bits, self.block, self.kind, self.columns = bits, block, zeros, columns
        self.blocks = -(-K // block)
        self.width = self.blocks * block
        self.numbers = [[chance.randrange(1 << bits) for _ in range(self.width)] for _ in range(columns)]
        # Every other table has scales that half precision holds: the plan keeps them so.
        scale = self.f16 if seed % 2 else self.f32
        self.scales = [[scale(chance.uniform(-.2, .2)) for _ in range(self.blocks)] for _ in range(columns)]
        self.scales[0][0] = scale(-3e-6)
        half = 1 << bits - 1
        pick = {"none": lambda: half, "packed": lambda: chance.randrange(1 << bits),
                "floats": lambda: self.f32(chance.uniform(0, 2 * half))}[zeros]
        self.zeros = [[pick() for _ in range(self.blocks)] for _ in range(columns)]

    @staticmethod
    def f32(value):
        return struct.unpack("<f", struct.pack("<f", value))[0]

    @staticmethod
    def f16(value):
        return struct.unpack("<e", struct.pack("<e", value))[0]

    def pack(self, rows):
        per = 8 // self.bits
        return bytes(sum(number << i * self.bits for i, number in enumerate(row[at:at + per]))
                     for row in rows for at in range(0, len(row), per))

    def tensors(self, name, flat):
        """Initializers, and the names of those that a node reads: bytes, scales, zero points."""
        bytes_of_block = self.block * self.bits // 8
        dims = ([self.columns, self.blocks * bytes_of_block] if flat else
                [self.columns, self.blocks, bytes_of_block])
        result = [onnx.tensor(f"{name}q", dims, self.pack(self.numbers), UINT8),
                  onnx.tensor(f"{name}s", [self.columns, self.blocks], [v for row in self.scales for v in row])]
        if self.kind == "packed":
            data = self.pack(self.zeros)
            result.append(onnx.tensor(f"{name}z", [self.columns, len(data) // self.columns], data, UINT8))
        elif self.kind == "floats":
            result.append(onnx.tensor(f"{name}z", [self.columns, self.blocks], [v for row in self.zeros for v in row]))
        return result, [f"{name}q", f"{name}s"], [f"{name}z"] if self.kind != "none" else []

    def value(self, column, k):
        block = k // self.block
        return (self.numbers[column][k] - self.zeros[column][block]) * self.scales[column][block]


def model():
    """Products y0, y1, … of x [t, K], and rows e0, e1, … by number i [t]."""
    weights = [Weights(seed, *form[:4]) for seed, form in enumerate(FORMS)]
    nodes, initializers, outputs = [], [], []
    for i, (form, table) in enumerate(zip(FORMS, weights)):
        tensors, inputs, zeros = table.tensors(f"w{i}", False)
        initializers += tensors
        bias = [f"b{i}"] if form[4] else []
        if bias:
            initializers.append(onnx.tensor(bias[0], [table.columns], [c / 8 for c in range(table.columns)]))
        skipped = [""] * (2 - len(zeros)) if bias else []
        nodes.append(onnx.node("MatMulNBits", ["x", *inputs, *zeros, *skipped, *bias], [f"y{i}"],
                               domain="com.microsoft", K=K, N=table.columns, bits=table.bits, block_size=table.block))
        outputs.append(onnx.value(f"y{i}", ["t", table.columns]))
        if table.kind != "floats":
            tensors, inputs, zeros = table.tensors(f"g{i}", True)
            initializers += tensors
            nodes.append(onnx.node("GatherBlockQuantized", [inputs[0], "i", inputs[1], *zeros], [f"e{i}"],
                                   domain="com.microsoft", bits=table.bits, block_size=table.block, gather_axis=0,
                                   quantize_axis=1))
            outputs.append(onnx.value(f"e{i}", ["t", table.width]))
    return weights, onnx.model(nodes, [onnx.value("x", ["t", K]), onnx.value("i", ["t"], INT64)], outputs, initializers,
                               opset=21, domains=[("com.microsoft", 1)])


def activations():
    chance = random.Random(7)
    return [[Weights.f32(chance.gauss(0, 1)) for _ in range(K)] for _ in range(MOST)]


def rounded(row, block):
    """A row as 8-bit integers times a scale for each block."""
    f32, result = Weights.f32, []
    for at in range(0, len(row), block):
        part = row[at:at + block]
        most = max(map(abs, part))
        scale, inverse = f32(most / 127), f32(127 / most)
        result += [round(f32(v * inverse)) * scale for v in part]
    return result


class Plan:
    def __init__(self, kind):
        self.weights, data = model()
        file, self.path = FOLDER / "model.onnx", FOLDER / f"{kind}.stint"
        file.write_bytes(data)
        self.path.unlink(missing_ok=True)
        support.expect(support.compile_model(file, self.path, "--target", support.BOTH, "--dim", f"t=1..{MOST}",
                                             "--activations", kind), 0)
        self.x, self.kind = activations(), kind
        self.names = [f"y{i}" for i in range(len(FORMS))]
        self.names += [f"e{i}" for i, form in enumerate(FORMS) if form[2] != "floats"]

    def run(self, program, first, count, *flags):
        """{output: values} for some of the tokens; token t gathers row t modulo the table's."""
        array = support.tensors.array.array
        support.tensors.write_npy(FOLDER / "x.npy", (count, K),
                                  array("f", [v for row in self.x[first:first + count] for v in row]))
        support.tensors.write_npy(FOLDER / "i.npy", (count,), array("q", range(first, first + count)), "<i8")
        outputs = [flag for name in self.names for flag in ("--output", f"{name}={FOLDER / name}.npy")]
        support.expect(support.run([*program, self.path, "--input", f"x={FOLDER / 'x.npy'}", "--input",
                                    f"i={FOLDER / 'i.npy'}", *outputs, *flags]), 0)
        return {name: support.tensors.read_npy(FOLDER / f"{name}.npy")[1] for name in self.names}

    def check(self, got, first, count):
        for i, (form, table) in enumerate(zip(FORMS, self.weights)):
            matrix = [[table.value(c, k) for k in range(K)] for c in range(table.columns)]
            x = [rounded(row, table.block) if self.kind == "int8" else row for row in self.x[first:first + count]]
            wanted = [sum(a * b for a, b in zip(given, row)) + (c / 8 if form[4] else 0)
                      for given in x for c, row in enumerate(matrix)]
            most = max(map(abs, wanted))
            worst = max(abs(a - b) for a, b in zip(got[f"y{i}"], wanted, strict=True))
            assert worst <= EXACT * most, f"{form}: off by {worst / most} of the largest"
            if f"e{i}" in got:
                rows = [min(t, table.columns - 1) for t in range(first, first + count)]
                wanted = [table.value(row, k) for row in rows for k in range(table.width)]
                worst = max(abs(a - b) for a, b in zip(got[f"e{i}"], wanted, strict=True))
                assert worst <= EXACT * max(map(abs, wanted)), f"{form}: rows off by {worst}"


_plans = {}


def plan(kind):
    if kind not in _plans:
        _plans[kind] = Plan(kind)
    return _plans[kind]


def every_form(kind, machine):
    made, bits = plan(kind), {}
    program = [support.RUN] if machine == "x86_64" else support.qemu("max")
    for variant in {"x86_64": ("v2", "v3"), "aarch64": ("neon", "dotprod", "i8mm")}[machine]:
        bits[variant] = made.run(program, 0, 9, "--variant", variant)
        made.check(bits[variant], 0, 9)
    if machine == "aarch64":  # what has fused multiply-add computes the same
        for name, values in made.run([support.RUN], 0, 9, "--variant", "v3").items():
            for variant, others in bits.items():
                assert values == others[name], f"{name} has other bits with {variant}"


def alone_or_together(kind):
    made = plan(kind)
    whole = made.run([support.RUN], 0, MOST, "--threads", "1")
    made.check(whole, 0, MOST)
    for threads, count in ((1, 1), (2, 2), (2, 3), (1, 5), (2, 7), (2, 33), (1, 64), (2, MOST)):
        for first in {0, MOST - count}:
            part = made.run([support.RUN], first, count, "--threads", str(threads))
            for name in made.names:
                width = len(whole[name]) // MOST
                assert part[name].tobytes() == whole[name][first * width:(first + count) * width].tobytes(), \
                    f"{name}: other bits for {count} tokens from {first} with {threads} threads"


# How weights come from a DequantizeLinear: element type, block, K, columns, with zero points, along which axis the
# blocks lie, through which nodes, and whether they stay packed.
DEQUANTISED = ((INT4, 32, 96, 33, False, 0, "MatMul", True), (UINT4, 16, 40, 20, True, 0, "MatMul", True),
               (INT4, 64, 100, 17, True, 1, "Transpose", True), (UINT8, 32, 64, 16, False, 1, "Gemm", True),
               (INT8, 128, 300, 18, True, 0, "Gemm bias", True), (UINT4, 32, 64, 8, True, 1, "Transpose", True),
               (INT4, 32, 64, 12, True, 1, "Add", False), (INT8, 8, 32, 9, True, 0, "MatMul", False),
               (INT4, 0, 48, 10, False, 1, "MatMul", False))


def dequantised():
    """Blocked DequantizeLinear in front of a product: right, and packed where a kernel is made for it."""
    chance = random.Random(11)
    nodes, inputs, initializers, outputs, wanted, whole = [], [], [], [], {}, {}
    for i, (kind, block, k, columns, zeros, axis, form, _) in enumerate(DEQUANTISED):
        bits, signed = (4 if kind in (INT4, UINT4) else 8), kind in (INT4, INT8)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        across = form in ("Transpose", "Add") or (form == "Gemm" and axis == 1)  # [columns, K], not [K, columns]
        count = -(-k // block) if block else 1
        numbers = [[chance.randint(low, high) for _ in range(k)] for _ in range(columns)]
        scales = [[Weights.f32(chance.uniform(.01, .2)) for _ in range(count)] for _ in range(columns)]
        points = [[chance.randint(low, high) for _ in range(count)] for _ in range(columns)]

        def laid(rows, across=across):
            return [v for row in (rows if across else zip(*rows)) for v in row]

        def packed(values, bits=bits):
            values = [v & (1 << bits) - 1 for v in values]
            return bytes(values) if bits == 8 else bytes(a | b << 4 for a, b in zip(values[::2], values[1::2] + [0]))

        def dims(length, across=across, columns=columns):
            return [columns, length] if across else [length, columns]
        per_block = dims(count) if block else [columns]
        initializers += [onnx.tensor(f"w{i}", dims(k), packed(laid(numbers)), kind),
                         onnx.tensor(f"s{i}", per_block, laid(scales))]
        if zeros:
            initializers.append(onnx.tensor(f"z{i}", per_block, packed(laid(points)), kind))
        nodes.append(onnx.node("DequantizeLinear", [f"w{i}", f"s{i}"] + [f"z{i}"] * zeros, [f"d{i}"], axis=axis,
                               **({"block_size": block} if block else {})))
        value = [[(numbers[c][at] - (points[c][at // block if block else 0] if zeros else 0)) *
                  scales[c][at // block if block else 0] for at in range(k)] for c in range(columns)]
        if form == "Add":
            nodes.append(onnx.node("Add", [f"d{i}", "one"], [f"y{i}"]))
            outputs.append(onnx.value(f"y{i}", dims(k)))
            wanted[f"y{i}"] = [v + 1 for row in value for v in row]
            continue
        x = [[Weights.f32(chance.gauss(0, 1)) for _ in range(k)] for _ in range(3)]
        inputs.append(onnx.value(f"x{i}", ["t", k]))
        whole[f"x{i}"] = ((3, k), [v for row in x for v in row])
        weights = f"d{i}"
        if form == "Transpose":
            nodes.append(onnx.node("Transpose", [weights], [f"t{i}"], perm=[1, 0]))
            weights = f"t{i}"
        bias = [c / 4 for c in range(columns)] if form == "Gemm bias" else [0] * columns
        if form == "Gemm bias":
            initializers.append(onnx.tensor(f"b{i}", [columns], bias))
        nodes.append(onnx.node(form.split()[0] if form.startswith("Gemm") else "MatMul",
                               [f"x{i}", weights] + [f"b{i}"] * (form == "Gemm bias"), [f"y{i}"],
                               **({"transB": 1} if form == "Gemm" else {})))
        outputs.append(onnx.value(f"y{i}", ["t", columns]))
        wanted[f"y{i}"] = [sum(a * b for a, b in zip(row, value[c])) + bias[c] for row in x for c in range(columns)]
    initializers.append(onnx.tensor("one", [], [1.0]))
    file, plan = FOLDER / "dequantised.onnx", FOLDER / "dequantised.stint"
    file.write_bytes(onnx.model(nodes, inputs, outputs, initializers, opset=21))
    support.expect(support.compile_model(file, plan, "--target", support.BOTH, "--dim", "t=1..4"), 0)
    flags = []
    for name, (shape, values) in whole.items():
        support.tensors.write_npy(FOLDER / f"{name}.npy", shape, support.tensors.array.array("f", values))
        flags += ["--input", f"{name}={FOLDER / name}.npy"]
    for name in wanted:
        flags += ["--output", f"{name}={FOLDER / name}.npy"]
    for program in ([support.RUN], support.qemu("max")):
        support.expect(support.run([*program, plan, *flags]), 0)
        for name, values in wanted.items():
            got = support.tensors.read_npy(FOLDER / f"{name}.npy")[1]
            worst = max(abs(a - b) for a, b in zip(got, values, strict=True))
            assert worst <= EXACT * max(map(abs, values)), f"{name} {DEQUANTISED[int(name[1:])]}: off by {worst}"
    plans = support.expect(support.run([support.STINT, "inspect", plan]), 0).text
    assert "block_matmul" in plans, plans
    made = sum(1 for form in DEQUANTISED if form[7])
    kernels = {word for word in plans.replace("(", " ").split() if word.startswith("block_matmul")}
    assert len(kernels) >= made, f"only {sorted(kernels)} of {made} products are by packed weights"


def tests():
    yield "dequantised", dequantised
    for kind in ("f32", "int8"):
        for machine in ("x86_64", "aarch64"):
            yield f"{kind}-{machine}", lambda kind=kind, machine=machine: every_form(kind, machine)
        yield f"{kind}-alone-or-together", lambda kind=kind: alone_or_together(kind)
