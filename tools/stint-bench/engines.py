"""Programs that run a model, behind one interface: stint and its peers.

    engine = OnnxRuntime(model, inputs, threads)   # inputs: {name, or "" for the only one: numpy array}
    engine.run()                                   # once, on those inputs
    engine.outputs()                               # {name: numpy array}, of the last run

    usage: engines.py ENGINE MODEL INPUTS.npz THREADS RUNS
creates one in a process of its own and prints, as JSON, the seconds until it was
ready and until its first result; for memory and cold starts.
"""
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "models"))
import environment

PEERS = {"onnxruntime": "onnxruntime==1.32.0", "openvino": "openvino==2026.4.1"}
NUMPY = "numpy==2.4.6"


def need(*peers):
    environment.need(*(PEERS[peer] for peer in peers), NUMPY)


class Stint:
    name = "stint"

    def __init__(self, plan, inputs, threads):
        import libstint
        self.model = libstint.Model(plan, threads)
        only = self.model.inputs[0][0]
        self.model.bind({name or only: value for name, value in inputs.items()})
        self.run = self.model.execute

    def outputs(self):
        return self.model.results()

    def close(self):
        self.model.close()


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, model, inputs, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]
        only = self.session.get_inputs()[0].name
        self.feed = {name or only: value for name, value in inputs.items()}

    def run(self):
        self.found = self.session.run(None, self.feed)

    def outputs(self):
        return dict(zip(self.names, self.found))

    def close(self):
        self.session = None


class OpenVino:
    name = "openvino"

    def __init__(self, model, inputs, threads):
        import openvino
        core = openvino.Core()
        network = core.read_model(str(model))
        compiled = core.compile_model(network, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
        self.request = compiled.create_infer_request()
        only = network.inputs[0].any_name
        self.feed = {name or only: value for name, value in inputs.items()}
        self.names = [output.any_name for output in compiled.outputs]

    def run(self):
        self.found = self.request.infer(self.feed, share_inputs=True, share_outputs=True)

    def outputs(self):
        return dict(zip(self.names, self.found.values()))

    def close(self):
        self.request = None


ENGINES = {engine.name: engine for engine in (Stint, OnnxRuntime, OpenVino)}


def main():
    kind, model, inputs, threads, runs = sys.argv[1:]
    if kind in PEERS:
        need(kind)
    import numpy
    with numpy.load(inputs) as file:
        given = {"" if name == "only" else name: file[name] for name in file.files}
    begin = time.perf_counter()
    engine = ENGINES[kind](model, given, int(threads))
    ready = time.perf_counter()
    engine.run()
    first = time.perf_counter()
    for _ in range(int(runs)):
        engine.run()
    print(json.dumps({"ready_seconds": ready - begin, "first_result_seconds": first - begin}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
