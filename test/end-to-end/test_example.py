"""examples/hello.c, as an application author would build it: with the C
compiler, the public header and libstint.
"""
import os
import shutil

import onnxfile as onnx
import support
import test_run_errors


def built(compiler, language):
    def test():
        if not shutil.which(compiler[0]):
            raise support.Skipped(f"no {compiler[0]} here")
        folder = support.folder("example")
        program = folder / f"hello-{language}"
        source = support.ROOT / "examples" / "hello.c"
        support.expect(support.run([*compiler, "-Wall", "-Wextra", "-Werror", source, "-I",
                                    support.ROOT / "runtime" / "include", support.BUILD / "lib" / "libstint.a",
                                    "-lpthread", "-o", program]), 0)
        done = support.expect(support.run([program, test_run_errors.small_plan(), "2", "8"]), 0)
        rows = [[float((i * 8 + j) % 7 - 3) for j in range(8)] for i in range(2)]
        wanted = [v for row in onnx.small_answer(rows) for v in row]
        printed = [float(line) for line in done.stdout.decode().split()]
        assert len(printed) == 8 and max(abs(a - b) for a, b in zip(printed, wanted)) < 1e-4, printed
        support.expect(support.run([program, test_run_errors.small_plan(), "9", "8"]), 1, "hello:")
        support.expect(support.run([program, os.devnull, "1"]), 1, "hello:")
    return test


def tests():
    yield "hello", built(["cc", "-std=c99"], "c")
    yield "hello-shared-clang", built(["clang-19", "-std=c11"], "clang")
