"""golden/cases.json: which inputs the models are tested with, and where ONNX
Runtime's answers are. Standard library only.
"""
import array
import json
import os
import pathlib
import wave

import onnxfile
import tensors
import wordpiece

HERE = pathlib.Path(__file__).resolve().parent
MODELS = pathlib.Path(os.environ.get("STINT_MODELS") or HERE.parent / "build" / "models")
ALL = json.loads((HERE / "golden" / "cases.json").read_text())["models"]


def inputs(model, case):
    """{input's name, or "" for the only one: (shape, values)}"""
    if model["input"] == "sentences":
        vocabulary = wordpiece.Vocabulary(MODELS / model["vocabulary"])
        return vocabulary.inputs(case["sentences"], case.get("length"))
    pictures = [tensors.read_png(HERE / "inputs" / f"{name}.png") for name in case["pictures"]]
    if "size" in case:
        pictures = [tensors.resize(*picture, *case["size"]) for picture in pictures]
    return {"": tensors.PREPROCESSING[model["input"]](pictures)}


def compile_flags(model, folder):
    """Bounds of dimensions, states, and inputs that are constants, whose files are written into the folder."""
    flags = [flag for name, bounds in model["dims"].items() for flag in ("--dim", f"{name}={bounds}")]
    for name, number in model.get("constants", {}).items():
        file = folder / f"{name}-{number}.pb"
        file.write_bytes(onnxfile.tensor(name, [], [number], onnxfile.INT64))
        flags += ["--constant", f"{name}={file}"]
    for before, after in model.get("state", {}).items():
        flags += ["--state", f"{before}={after}"]
    return flags


def outputs(model, case):
    """(output's name, or "" for the first one; golden file; of how many values one is in it)"""
    if "outputs" not in model:
        return [("", HERE / "golden" / f"{case['name']}.npy.gz", 1)]
    return [(name, HERE / "golden" / f"{case['name']}.{name}.npy.gz", every)
            for name, every in model["outputs"].items()]


def frames(model, recording):
    """A recording cut into what the model hears at once: `frame` new samples after the last `context` old ones.
    Nothing precedes the first, zeros follow the last."""
    with wave.open(recording) as stream:
        if (stream.getnchannels(), stream.getsampwidth(), stream.getframerate()) != (1, 2, 16000):
            raise ValueError(f"{recording}: not 16 bits, mono, 16 kHz")
        samples = array.array("h", stream.readframes(stream.getnframes()))
    frame, context = model["frame"], model["context"]
    samples = array.array("f", [0] * context + [value / 32768 for value in samples])
    samples.extend([0] * (-(len(samples) - context) % frame))
    for start in range(0, len(samples) - context, frame):
        yield (1, context + frame), samples[start:start + context + frame]
