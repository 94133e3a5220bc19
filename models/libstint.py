"""libstint from Python, through ctypes: enough to run a plan again and again.

    model = libstint.Model("net.stint", threads=2)
    outputs = model.run({"x": array})          # numpy arrays in, numpy arrays out

Inputs are read where they lie; outputs are views of the session's memory, valid
until the next run. State inside the plan is kept from run to run. The library is
$STINT_BUILD/lib/libstint.so (default: build/). Needs numpy, but for bind_memory and
result_memory.
"""
import ctypes
import os
import pathlib

try:
    import numpy
except ImportError:
    numpy = None

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("STINT_BUILD") or HERE.parent / "build")
MAX_RANK = 8
BIND_ALL = 1
TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8"}


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("object_kind", ctypes.c_int32), ("object", ctypes.c_uint32),
                ("entry", ctypes.c_uint32), ("a", ctypes.c_int64), ("b", ctypes.c_int64), ("text", ctypes.c_char_p)]


class PortInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("type", ctypes.c_int32),
                ("rank", ctypes.c_uint32)]


class DimInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("symbol", ctypes.c_int32),
                ("lower", ctypes.c_int64), ("upper", ctypes.c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64),
                ("type", ctypes.c_int32), ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * MAX_RANK)]


class ExecutorOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_uint32), ("cpus", ctypes.c_void_p),
                ("cpu_count", ctypes.c_uint32), ("parallel_for", ctypes.c_void_p),
                ("parallel_for_user", ctypes.c_void_p)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("executor", ctypes.c_void_p),
                ("entry", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("maxima", ctypes.c_void_p),
                ("maximum_count", ctypes.c_size_t)]


class DecoderInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint32) for name in (
        "entry", "vocabulary", "context", "page_size", "page_count", "max_tokens", "max_sequences")] + [
        ("page_bytes", ctypes.c_uint64)]


class MemoryInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "session", "arena", "scratch", "ports", "state", "plan", "code", "constants", "weights", "lower_bound")] + [
        ("profile", ctypes.c_uint32), ("threads", ctypes.c_uint32)]


class Error(Exception):
    pass


def _library():
    path = BUILD / "lib" / "libstint.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Error(f"{error}: build it (ninja stint), or say in $STINT_BUILD which build folder has it") from None
    for name in ("stint_model_open_file", "stint_executor_create", "stint_session_create", "stint_model_input",
                 "stint_model_output", "stint_session_bind_input", "stint_session_run", "stint_session_output",
                 "stint_model_input_dim", "stint_model_memory", "stint_model_decoder", "stint_generator_create",
                 "stint_generator_step", "stint_sequence_add", "stint_sequence_rewind", "stint_sequence_remove",
                 "stint_sequence_tokens"):
        getattr(library, name).restype = Status
    library.stint_status_format.restype = ctypes.c_size_t
    library.stint_model_input_count.restype = library.stint_model_output_count.restype = ctypes.c_uint32
    return library


class Model:
    """A plan, opened, with one session: of its first entry, or of its decoder's."""

    def __init__(self, path, threads=1, decoder=False):
        self.library = _library()
        self.model, self.executor, self.session = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.stint_model_open_file(os.fsencode(path), None, ctypes.byref(self.model)))
        options = ExecutorOptions(size=ctypes.sizeof(ExecutorOptions), threads=threads)
        self.check(self.library.stint_executor_create(ctypes.byref(options), ctypes.byref(self.executor)))
        self.options = SessionOptions(size=ctypes.sizeof(SessionOptions), executor=self.executor)
        if decoder:
            self.decoder = DecoderInfo(size=ctypes.sizeof(DecoderInfo))
            self.check(self.library.stint_model_decoder(self.model, ctypes.byref(self.decoder)))
            self.options.entry, self.options.flags = self.decoder.entry, BIND_ALL
        self.check(self.library.stint_session_create(self.model, ctypes.byref(self.options),
                                                      ctypes.byref(self.session)))
        self.inputs, self.outputs = self._ports("input"), self._ports("output")
        self.bound = {}

    def close(self):
        self.library.stint_session_destroy(self.session)
        self.library.stint_executor_release(self.executor)
        self.library.stint_model_release(self.model)
        self.session = self.executor = self.model = ctypes.c_void_p()

    def check(self, status):
        """Raises what libstint says is wrong."""
        if status.code:
            text = ctypes.create_string_buffer(500)
            self.library.stint_status_format(ctypes.byref(status), self.model, text, ctypes.c_size_t(len(text)))
            raise Error(text.value.decode())

    def _ports(self, kind):
        """[(name, numpy's word for the type)]"""
        ports = []
        for number in range(getattr(self.library, f"stint_model_{kind}_count")(self.model, 0)):
            info = PortInfo(size=ctypes.sizeof(PortInfo))
            self.check(getattr(self.library, f"stint_model_{kind}")(self.model, 0, number, ctypes.byref(info)))
            ports.append((info.name.decode(), TYPES[info.type]))
        return ports

    def bounds(self, number, axis):
        """The least and the most that a dimension of an input may be."""
        info = DimInfo(size=ctypes.sizeof(DimInfo))
        self.check(self.library.stint_model_input_dim(self.model, 0, number, axis, ctypes.byref(info)))
        return info.lower, info.upper

    def bind(self, inputs):
        """Where later runs read each named input."""
        for number, (name, kind) in enumerate(self.inputs):
            if name not in inputs:
                continue
            array = numpy.ascontiguousarray(inputs[name])
            if array.dtype != numpy.dtype(kind):
                raise Error(f"input '{name}' is {kind}, not {array.dtype}")
            self.bind_memory(number, array.ctypes.data, array.nbytes, array.shape)
            self.bound[name] = array

    def bind_memory(self, number, address, size, shape):
        """Where later runs read input `number`."""
        dims = (ctypes.c_int64 * MAX_RANK)(*shape)
        self.check(self.library.stint_session_bind_input(
            self.session, ctypes.c_uint32(number), ctypes.c_void_p(address), ctypes.c_uint64(size),
            ctypes.c_uint32(len(shape)), dims))

    def execute(self):
        """Runs with what is bound."""
        self.check(self.library.stint_session_run(self.session, None))

    def results(self):
        """{name: array}, views of the session's memory."""
        found = {}
        for number, (name, kind) in enumerate(self.outputs):
            data, shape = self.result_memory(number)
            found[name] = numpy.frombuffer(data, kind).reshape(shape)
        return found

    def result_memory(self, number):
        """The session's memory of output `number`, and its shape."""
        tensor = Tensor(size=ctypes.sizeof(Tensor))
        self.check(self.library.stint_session_output(self.session, ctypes.c_uint32(number), ctypes.byref(tensor)))
        data = (ctypes.c_char * tensor.bytes).from_address(tensor.data) if tensor.bytes else b""
        return data, list(tensor.dims[:tensor.rank])

    def run(self, inputs):
        self.bind(inputs)
        self.execute()
        return self.results()

    def memory(self):
        """The session's memory contract: {name: bytes} (stint_memory_info)."""
        info = MemoryInfo(size=ctypes.sizeof(MemoryInfo))
        self.check(self.library.stint_model_memory(self.model, ctypes.byref(self.options), ctypes.byref(info)))
        return {name: getattr(info, name) for name, _ in MemoryInfo._fields_ if name != "size"}
