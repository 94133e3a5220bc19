"""Who may include whom: the layers of docs/architecture.md.

Includes of this project are written from the repository's root; a name without
a folder is a neighbour in the same folder.
"""
import re

import sources

# folder: prefixes that its files may include, besides the folder itself.
# The first folder that a file lies under counts, so longer paths come first.
SCHEMA = ["runtime/schema/"]
API = ["stint/"]
IR = ["mlir/", "llvm/", "llvm-c/"]
RUNTIME_ORDER = ["base", "platform", "plan", "code", "threads", "devices", "core", "generation"]

ALLOWED = {
    "runtime/schema": [],
    "runtime/include": API + SCHEMA,
    "dialects": ["dialects/", *IR],
    "passes": ["passes/", "dialects/", *IR],
    # import is the only place that sees protobuf, serialise flatbuffers,
    # codegen the linker.
    "compiler/import": ["dialects/", "onnx/", "google/protobuf/", *SCHEMA, *IR],
    # One SHA-256 for both sides: docs/decisions/0008.
    "compiler/weights": ["dialects/", "runtime/base/sha256.h", *SCHEMA, *IR],
    "compiler/text": [*SCHEMA, *IR],
    "compiler/target": ["dialects/", *SCHEMA, *IR],
    "compiler/codegen": ["compiler/target/", "dialects/", "lld/", *SCHEMA, *IR],
    "compiler/quantize": ["dialects/", *SCHEMA, *IR],
    "compiler/serialise": ["compiler/weights/", "compiler/target/", "dialects/", "flatbuffers/", *SCHEMA, *IR],
    "compiler/driver": ["compiler/", "passes/", "dialects/", *API, *SCHEMA, *IR],
    "tools/stint-opt": ["compiler/", "passes/", "dialects/", *IR],
    "tools/stint-run": API,
    "tools/stint-bench": [],
    "tools/stint": ["compiler/driver/", "CLI/", *API, *SCHEMA, *IR],
    "examples": API,
}

# The C++ headers of the runtime's subset, and C's that any libc has.
SUBSET = {"atomic", "new", "type_traits", "utility", "cstdint", "cstddef",
          "stdint.h", "stddef.h", "string.h", "stdarg.h", "limits.h"}
# Instruction set headers, allowed where the processor is spoken to.
PROCESSOR = {"immintrin.h", "arm_neon.h", "arm_acle.h", "cpuid.h"}


def includes_of(name):
    for number, line in enumerate(sources.read(name).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match[1], match[2]


def allowed_for(name):
    parts = name.split("/")
    if parts[0] == "runtime" and parts[1] not in ("schema", "include"):
        below = [*SCHEMA, *API, f"runtime/{parts[1]}/"]
        if parts[1] not in RUNTIME_ORDER:
            return None
        return below + [f"runtime/{layer}/"
                        for layer in RUNTIME_ORDER[:RUNTIME_ORDER.index(parts[1])]]
    for folder, prefixes in ALLOWED.items():
        if name.startswith(folder + "/"):
            return prefixes
    return None


def rule_includes():
    """A file includes only its own folder and the layers below it."""
    complaints = []
    for name in sources.code_files():
        if name.startswith("test/"):
            continue
        prefixes = allowed_for(name)
        if prefixes is None:
            complaints.append(f"{name}: lies outside the layers that this rule knows")
            continue
        folder = "/".join(name.split("/")[:2]) + "/"
        for number, kind, header in includes_of(name):
            ours = kind == '"' or header.startswith("stint/")
            generated = header.endswith((".inc", "_generated.h"))
            neighbour = "/" not in header
            if not ours or neighbour or header.startswith((folder, *prefixes)):
                continue
            if generated and not header.startswith(("compiler/", "passes/", "dialects/", "runtime/")):
                continue
            complaints.append(f'{name}:{number}: may not include "{header}"')
    return complaints


def rule_runtime_subset():
    """The runtime uses its subset of C++; the operating system is behind platform/."""
    complaints = []
    for name in sources.code_files():
        if not name.startswith("runtime/"):
            continue
        layer = name.split("/")[1]
        for number, kind, header in includes_of(name):
            if kind != "<" or header in SUBSET or layer == "platform":
                continue
            if header in PROCESSOR and layer in ("base", "platform"):
                continue
            complaints.append(f"{name}:{number}: <{header}>")
    return complaints


def rule_third_parties():
    """Only the reader sees protobuf, only the writer flatbuffers, only codegen LLD."""
    owners = {"onnx/": "compiler/import/", "google/protobuf/": "compiler/import/",
              "flatbuffers/": "compiler/serialise/", "lld/": "compiler/codegen/",
              "CLI/": "tools/stint/"}
    complaints = []
    for name in sources.code_files():
        if name.startswith("test/"):
            continue
        for number, _, header in includes_of(name):
            for prefix, owner in owners.items():
                if header.startswith(prefix) and not name.startswith(owner):
                    complaints.append(f"{name}:{number}: {header} belongs to {owner}")
            if header == "mlir/InitAllDialects.h":
                complaints.append(f"{name}:{number}: {header} takes minutes to compile")
    return complaints
