"""Programs that generate text, behind one interface: stint and its peers.

    engine = LlamaCpp(files, threads, context)     # files: Files
    engine.begin(prompt)                           # token ids; forgets what was, chooses the first token
    engine.go_on(count)                            # so many more, one at a time
    engine.rewind()                                # to the first token again
    engine.tokens()                                # what was chosen since begin, always the likeliest

    usage: decoders.py ENGINE GGUF FOLDER THREADS CONTEXT PROMPT-TOKENS
creates one in a process of its own and prints, as JSON, the seconds from before its library was loaded
to its first token, and what that is; for memory and cold starts.
"""
import collections
import ctypes
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "models"))
import environment
from processes import Failure

NUMPY = "numpy==2.4.6"
PEERS = {"llama.cpp": ["llama-cpp-python==0.3.36", NUMPY],
         "onnxruntime-genai": ["onnxruntime-genai==0.18.0", "onnxruntime==1.32.0", NUMPY]}
MODULES = {"llama.cpp": "llama_cpp", "onnxruntime-genai": "onnxruntime_genai"}

# The same model for each: a GGUF file, a folder as onnxruntime-genai reads it, a plan.
Files = collections.namedtuple("Files", "gguf folder plan")


def need(peer):
    environment.need(*PEERS[peer])


def prompt_of(count):
    """Token ids that differ and that any vocabulary has, the same every time."""
    return [3 + number * 7919 % 499 for number in range(count)]


class Stint:
    def __init__(self, files, threads, context):
        import generator
        self.generator, self.sequence = generator.Generator(files.plan, threads), None
        if self.generator.model.decoder.context < context:
            raise Failure(f"the plan is for {self.generator.model.decoder.context} tokens, not {context}")
        self.context = context

    def begin(self, prompt):
        if self.sequence:
            self.generator.remove(self.sequence)
        self.prompt = len(prompt)
        self.sequence = self.generator.add(prompt, self.context - len(prompt))
        # A step reads no more of the prompt than the plan's chunk.
        for _ in range(-(-len(prompt) // self.generator.model.decoder.max_tokens)):
            self.generator.step()

    def go_on(self, count):
        for _ in range(count):
            self.generator.step()

    def rewind(self):
        self.generator.rewind(self.sequence, self.prompt + 1)

    def tokens(self):
        return self.generator.tokens(self.sequence)[self.prompt:]

    def close(self):
        self.generator.close()


class LlamaCpp:
    def __init__(self, files, threads, context):
        import llama_cpp
        self.llama = llama_cpp

        @llama_cpp.llama_log_callback
        def silent(_level, _text, _user):
            pass

        self.silent = silent
        llama_cpp.llama_log_set(silent, ctypes.c_void_p())
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            str(files.gguf).encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise Failure(f"llama.cpp doesn't load {files.gguf}")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = context, 2048, 512
        options.n_threads = options.n_threads_batch = threads
        self.run = llama_cpp.llama_init_from_model(self.model, options)
        if not self.run:
            raise Failure("llama.cpp makes no context")
        self.memory = llama_cpp.llama_get_memory(self.run)
        self.sampler = llama_cpp.llama_sampler_init_greedy()

    def _read(self, tokens):
        memory = (self.llama.llama_token * len(tokens))(*tokens)  # the batch only points to it
        code = self.llama.llama_decode(self.run, self.llama.llama_batch_get_one(memory, len(tokens)))
        if code:
            raise Failure(f"llama_decode: {code}")
        self.chosen.append(self.llama.llama_sampler_sample(self.sampler, self.run, -1))

    def begin(self, prompt):
        self.llama.llama_memory_clear(self.memory, False)
        self.prompt, self.chosen = len(prompt), []
        self._read(prompt)

    def go_on(self, count):
        for _ in range(count):
            self._read(self.chosen[-1:])

    def rewind(self):
        self.llama.llama_memory_seq_rm(self.memory, 0, self.prompt, -1)
        del self.chosen[1:]

    def tokens(self):
        return list(self.chosen)

    def close(self):
        self.llama.llama_free(self.run)
        self.llama.llama_model_free(self.model)


class Genai:
    def __init__(self, files, threads, context):
        import onnxruntime_genai as genai
        self.genai, self.context = genai, context
        config = genai.Config(str(files.folder))
        config.overlay(json.dumps({"model": {"context_length": context, "decoder": {"session_options": {
            "intra_op_num_threads": threads, "inter_op_num_threads": 1}}}}))
        self.model = genai.Model(config)
        self.generator = None

    def begin(self, prompt):
        self.generator = None
        parameters = self.genai.GeneratorParams(self.model)
        parameters.set_search_options(max_length=self.context, do_sample=False)
        self.generator = self.genai.Generator(self.model, parameters)
        self.prompt = len(prompt)
        self.generator.append_tokens(prompt)
        self.generator.generate_next_token()
        self.first = self.tokens()[0]

    def go_on(self, count):
        for _ in range(count):
            self.generator.generate_next_token()

    def rewind(self):
        # Tokens that are appended are read at once: one step further than the others.
        self.generator.rewind_to(self.prompt)
        self.generator.append_tokens([self.first])
        self.generator.generate_next_token()

    def tokens(self):
        return [int(token) for token in self.generator.get_sequence(0)[self.prompt:]]

    def close(self):
        self.generator = self.model = None


ENGINES = {"stint": Stint, "llama.cpp": LlamaCpp, "onnxruntime-genai": Genai}


def main():
    name, gguf, folder, threads, context, count = sys.argv[1:]
    need(name)
    import numpy  # noqa: F401  (Python's own start and numpy's aren't the peer's)
    begin = time.perf_counter()
    engine = ENGINES[name](Files(gguf, folder, None), int(threads), int(context))
    ready = time.perf_counter()
    engine.begin(prompt_of(int(count)))
    first = time.perf_counter()
    print(json.dumps({"ready_seconds": ready - begin, "first_token_seconds": first - begin,
                      "token": engine.tokens()[0]}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
