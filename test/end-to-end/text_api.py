"""The C API's section "Text" from Python, through ctypes, standard library only.

    text = text_api.Text("model.stint")
    text.encode("Once"); text.decode([1, 2]); text.chat([("user", "Hello")])
"""
import ctypes

import support

NO_TOKEN = 0xffffffff
SPECIAL, AROUND, NO_PROMPT = 1, 2, 4
SKIP_SPECIAL, WHOLE = 1, 2


class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("object_kind", ctypes.c_int32), ("object", ctypes.c_uint32),
                ("entry", ctypes.c_uint32), ("a", ctypes.c_int64), ("b", ctypes.c_int64), ("text", ctypes.c_char_p)]


class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_char_p), ("token_count", ctypes.c_uint32),
                ("special_count", ctypes.c_uint32), ("bos_id", ctypes.c_uint32), ("eos_id", ctypes.c_uint32),
                ("turn_end_id", ctypes.c_uint32), ("has_chat", ctypes.c_uint32), ("decode_capacity", ctypes.c_uint64)]


class EncodeOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("scratch", ctypes.c_void_p),
                ("scratch_size", ctypes.c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [("role", ctypes.c_char_p), ("text", ctypes.c_char_p), ("text_size", ctypes.c_size_t)]


class Error(Exception):
    pass


class Text:
    def __init__(self, plan):
        self.library = ctypes.CDLL(str(support.BUILD / "lib" / "libstint.so"))
        for name in ("open_file", "tokenizer", "encode", "encode_chat", "decode", "decode_end"):
            getattr(self.library, f"stint_model_{name}").restype = Status
        self.model = ctypes.c_void_p()
        self.check(self.library.stint_model_open_file(str(plan).encode(), None, ctypes.byref(self.model)))
        self.info = Info(size=ctypes.sizeof(Info))
        self.check(self.library.stint_model_tokenizer(self.model, ctypes.byref(self.info)))

    def check(self, status):
        if status.code:
            text = ctypes.create_string_buffer(500)
            self.library.stint_status_format(ctypes.byref(status), self.model, text, ctypes.c_size_t(len(text)))
            raise Error(text.value.decode())

    def _ids(self, call, flags):
        options = EncodeOptions(size=ctypes.sizeof(EncodeOptions), flags=flags)
        ids, count = (ctypes.c_uint32 * 100000)(), ctypes.c_size_t()
        self.check(call(ctypes.byref(options), ids, ctypes.c_size_t(len(ids)), ctypes.byref(count)))
        return list(ids[:count.value])

    def encode(self, text, flags=0):
        data = text.encode()
        return self._ids(lambda *rest: self.library.stint_model_encode(
            self.model, data, ctypes.c_size_t(len(data)), *rest), flags)

    def chat(self, messages, flags=0):
        texts = [text.encode() for _, text in messages]
        given = (Message * len(messages))(*(Message(role.encode(), text, len(text))
                                            for (role, _), text in zip(messages, texts)))
        return self._ids(lambda *rest: self.library.stint_model_encode_chat(
            self.model, given, ctypes.c_size_t(len(messages)), *rest), flags)

    def pieces(self, ids, flags=0):
        """The text of each id, as a stream gives it out, and what is left at the end."""
        stream, room = (ctypes.c_uint32 * 4)(), self.info.decode_capacity
        for number in ids:
            given, out = (ctypes.c_uint32 * 1)(number), ctypes.create_string_buffer(room)
            done, written = ctypes.c_size_t(), ctypes.c_size_t()
            self.check(self.library.stint_model_decode(
                self.model, stream, given, ctypes.c_size_t(1), ctypes.c_uint32(flags), out, ctypes.c_size_t(room),
                ctypes.byref(done), ctypes.byref(written)))
            assert done.value == 1
            yield out.raw[:written.value].decode()  # a part of a character would fail here
        out, written = ctypes.create_string_buffer(12), ctypes.c_size_t()
        self.check(self.library.stint_model_decode_end(self.model, stream, out, ctypes.c_size_t(12),
                                                       ctypes.byref(written)))
        yield out.raw[:written.value].decode()

    def decode(self, ids, flags=0):
        return "".join(self.pieces(ids, flags))

    def close(self):
        self.library.stint_model_release(self.model)
