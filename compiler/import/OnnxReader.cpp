// Decodes ONNX's protobuf messages (onnx.proto) straight into the plain model.
//
// The decoder walks the mapped file itself, so that neither protobuf's 2 GB
// limit nor memory bounds the model: tensor payloads are remembered as extents
// of the file and never copied, but for the varint-encoded typed fields, which
// are decoded into the side buffer. Unknown fields and enum values are skipped,
// as protobuf does, so newer files read as far as they are understood.
#include "compiler/import/OnnxReader.h"
#include "compiler/import/WireReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace stint::import;
using llvm::StringRef;
using llvm::Twine;

namespace {
constexpr int kMaxNesting = 64; // subgraphs and types inside each other

/// Maps a regular file: others may never end.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readRegularFile(const Twine &path) {
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && llvm::sys::fs::is_directory(status))
    code = std::make_error_code(std::errc::is_a_directory);
  if (code)
    return llvm::createStringError(code, code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return llvm::createStringError(std::make_error_code(std::errc::invalid_argument), "not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), buffer.getError().message());
  return std::move(*buffer);
}

std::string normalDomain(std::string domain) { return domain == "ai.onnx" ? std::string() : domain; }

class Decoder {
public:
  Decoder(Model &model, StringRef path, Diagnostics &diagnostics)
      : model(model), path(path), diagnostics(diagnostics) {}
  bool decode();
  /// Decodes a file that holds one TensorProto; `file` is its index.
  bool decodeTensorFile(int file, Tensor &tensor);

private:
  void decodeGraph(WireReader r, Graph &graph, int depth);
  void decodeNode(WireReader r, Node &node, int depth);
  void decodeAttribute(WireReader r, NodeAttribute &attribute, int depth);
  void decodeTensor(WireReader r, Tensor &tensor);
  void decodeValueInfo(WireReader r, ValueInfo &info);
  void decodeType(WireReader r, ValueInfo &info, int depth = 0);
  void decodeFunction(WireReader r, Function &function);
  void decodeOpset(WireReader r, std::map<std::string, int64_t> &opsets);
  void external(Tensor &tensor, const llvm::StringMap<std::string> &entries);
  void problem(Problem kind, const Twine &message) { diagnostics.report(kind, "'" + path + "': " + message); }

  Model &model;
  StringRef path;
  Diagnostics &diagnostics;
  WireError error;
  const uint8_t *base = nullptr;
  int fileIndex = 0;
};
} // namespace

void Decoder::decodeOpset(WireReader r, std::map<std::string, int64_t> &opsets) {
  std::string domain;
  int64_t version = 1;
  while (r.next()) {
    if (r.field == 1)
      domain = normalDomain(r.string());
    else if (r.field == 2)
      version = r.integer();
  }
  opsets[domain] = version;
}

void Decoder::decodeType(WireReader r, ValueInfo &info, int depth) {
  while (depth <= kMaxNesting && r.next()) {
    if (r.field == 1 || r.field == 8) { // tensor_type, sparse_tensor_type
      info.kind = r.field == 1 ? ValueInfo::Kind::Tensor : ValueInfo::Kind::SparseTensor;
      for (WireReader t = r.message(); t.next();) {
        if (t.field == 1) {
          info.type = static_cast<DataType>(t.integer());
        } else if (t.field == 2) {
          info.hasShape = true;
          for (WireReader s = t.message(); s.next();) {
            if (s.field != 1)
              continue;
            ValueInfo::Dim dim;
            for (WireReader d = s.message(); d.next();) {
              if (d.field == 1)
                dim.value = d.integer();
              else if (d.field == 2)
                dim.param = d.string();
            }
            info.dims.push_back(dim);
          }
        }
      }
    } else if (r.field == 4) {
      for (WireReader s = r.message(); s.next();)
        if (s.field == 1)
          decodeType(s.message(), info, depth + 1);
      info.kind = info.kind == ValueInfo::Kind::Tensor ? ValueInfo::Kind::Sequence : ValueInfo::Kind::Unknown;
    } else if (r.field == 5) {
      info.kind = ValueInfo::Kind::Map;
    } else if (r.field == 9) {
      // An optional input is given; whether it would be is no question here.
      for (WireReader o = r.message(); o.next();)
        if (o.field == 1)
          decodeType(o.message(), info, depth + 1);
    }
  }
}

void Decoder::decodeValueInfo(WireReader r, ValueInfo &info) {
  while (r.next()) {
    if (r.field == 1)
      info.name = r.string();
    else if (r.field == 2)
      decodeType(r.message(), info);
  }
}

/// Finds the file of external data and the tensor's place in it.
void Decoder::external(Tensor &tensor, const llvm::StringMap<std::string> &entries) {
  std::string where = "tensor '" + tensor.name + "': ";
  std::string location = entries.lookup("location");
  uint64_t offset = 0, length = 0;
  bool hasLength = entries.count("length");
  if (location.empty())
    return problem(Problem::Malformed, where + "external data without a location");
  if ((entries.count("offset") && StringRef(entries.lookup("offset")).getAsInteger(10, offset)) ||
      (hasLength && StringRef(entries.lookup("length")).getAsInteger(10, length)))
    return problem(Problem::Malformed, where + "offset or length of its external data is not a number");
  bool escapes = llvm::sys::path::is_absolute(location) || location.find('\0') != std::string::npos;
  for (auto it = llvm::sys::path::begin(location), e = llvm::sys::path::end(location); it != e; ++it)
    escapes |= *it == "..";
  if (escapes)
    return problem(Problem::Malformed, where + "external data at '" + location +
                                           "' is outside the model's folder; put it beside the model");
  llvm::SmallString<256> full(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(full, location);
  size_t index = 0;
  while (index < model.files.size() && model.files[index].path != full)
    ++index;
  if (index == model.files.size()) {
    auto buffer = readRegularFile(full);
    if (!buffer)
      return problem(Problem::Failed, where + "cannot read its external data '" + full.str() + "': " +
                                          llvm::toString(buffer.takeError()) + "; copy that file beside the model");
    model.files.push_back({full.str().str(), std::move(*buffer)});
  }
  uint64_t available = model.files[index].buffer->getBufferSize();
  if (offset > available || (hasLength && length > available - offset))
    return problem(Problem::Malformed, where + "its external data '" + full.str() + "' has " + Twine(available) +
                                           " bytes, too few for offset " + Twine(offset) + ", length " + Twine(length) +
                                           "; the file is truncated or belongs to another model");
  tensor.file = index;
  tensor.offset = offset;
  tensor.size = hasLength ? length : available - offset;
  if (!hasLength) // the rest of the file: only the tensor's own bytes
    tensor.size = std::min<uint64_t>(tensor.size, (tensor.elements() * bitsOf(tensor.type) + 7) / 8);
}

void Decoder::decodeTensor(WireReader r, Tensor &tensor) {
  llvm::StringMap<std::string> externalEntries;
  bool isExternal = false, segmented = false, hasData = false;
  std::vector<int64_t> decoded;   // int32_data, int64_data, uint64_data
  std::vector<uint8_t> collected; // float_data or double_data in pieces
  int pieces = 0;
  auto extent = [&](WireReader &r) {
    tensor.file = fileIndex;
    tensor.offset = r.offsetOfData();
    tensor.size = r.size;
  };
  while (r.next()) {
    switch (r.field) {
    case 1:
      r.integers([&](int64_t dim) { tensor.dims.push_back(dim); });
      break;
    case 2:
      tensor.type = static_cast<DataType>(r.integer());
      break;
    case 3:
      segmented = true;
      break;
    case 4:  // float_data
    case 10: // double_data
      if (!r.data || (!r.isBytes() && r.size != (r.field == 4 ? 4u : 8u)))
        break;
      hasData = true;
      if (++pieces == 1)
        extent(r);
      else if (pieces == 2) // not one packed field: gather the pieces
        collected.assign(base + tensor.offset, base + tensor.offset + tensor.size);
      if (pieces > 1)
        collected.insert(collected.end(), r.data, r.data + r.size);
      break;
    case 5:  // int32_data
    case 7:  // int64_data
    case 11: // uint64_data
      hasData = true;
      r.integers([&](int64_t v) { decoded.push_back(v); });
      break;
    case 6:
      tensor.strings = true;
      break;
    case 8:
      tensor.name = r.string();
      break;
    case 9:
      if (r.isBytes()) {
        hasData = true;
        pieces = 0;
        extent(r);
      }
      break;
    case 13: {
      std::string key, value;
      for (WireReader e = r.message(); e.next();)
        (e.field == 1 ? key : e.field == 2 ? value : key) = e.string();
      externalEntries[key] = value;
      break;
    }
    case 14:
      isExternal = r.integer() == 1;
      break;
    }
  }
  if (error.what)
    return;
  std::string where = "tensor '" + tensor.name + "': ";
  uint64_t elements = 1;
  for (int64_t dim : tensor.dims)
    if (dim < 0 || dim > (int64_t(1) << 40) ||
        llvm::MulOverflow<int64_t>(elements, dim, reinterpret_cast<int64_t &>(elements)) ||
        elements > (uint64_t(1) << 56))
      return problem(Problem::Malformed, where + "its shape is not one of a tensor");
  if (tensor.type == DataType::String || tensor.strings) {
    tensor.strings = true;
    return;
  }
  unsigned bits = bitsOf(tensor.type);
  if (bits == 0)
    return problem(Problem::Malformed, where + "has " + nameOf(tensor.type) + ", not one this compiler knows");
  if (segmented)
    return problem(Problem::Malformed, where + "is stored in segments; save the model in one piece");
  if (isExternal) {
    size_t before = diagnostics.all().size();
    external(tensor, externalEntries);
    if (diagnostics.all().size() != before)
      return;
  } else if (!decoded.empty()) {
    // Little-endian elements, cut to the type's width. Complex types and
    // 4-bit types never come this way but as whole bytes.
    unsigned width = std::max(bits / 8, 1u);
    std::vector<uint8_t> bytes(decoded.size() * width);
    for (size_t i = 0; i < decoded.size(); ++i)
      std::memcpy(&bytes[i * width], &decoded[i], std::min(width, 8u));
    tensor.file = Tensor::kInline;
    tensor.size = bytes.size();
    tensor.offset = model.inlineData->add(bytes);
  } else if (pieces > 1) {
    tensor.file = Tensor::kInline;
    tensor.size = collected.size();
    tensor.offset = model.inlineData->add(collected);
  } else if (!hasData) {
    tensor.file = Tensor::kInline;
    tensor.offset = tensor.size = 0;
  }
  uint64_t expected = (elements * bits + 7) / 8;
  if (tensor.size != expected) {
    std::string holder =
        isExternal && tensor.file >= 0 ? "its external data '" + model.files[tensor.file].path + "' " : "";
    problem(Problem::Malformed, where + holder + "holds " + Twine(tensor.size) + " bytes, but its shape and type (" +
                                    nameOf(tensor.type) + ") need " + Twine(expected) +
                                    "; the model was not saved right, export it again");
  }
}

void Decoder::decodeAttribute(WireReader r, NodeAttribute &attribute, int depth) {
  using Kind = NodeAttribute::Kind;
  Kind stated = Kind::Undefined, seen = Kind::Undefined;
  while (r.next()) {
    switch (r.field) {
    case 1:
      attribute.name = r.string();
      break;
    case 2:
      attribute.f = r.asFloat();
      seen = Kind::Float;
      break;
    case 3:
      attribute.i = r.integer();
      seen = Kind::Int;
      break;
    case 4:
      attribute.s = r.string();
      seen = Kind::String;
      break;
    case 5:
      if (!attribute.tensor)
        attribute.tensor = std::make_shared<Tensor>();
      decodeTensor(r.message(), *attribute.tensor);
      seen = Kind::Tensor;
      break;
    case 6:
      if (!attribute.graph)
        attribute.graph = std::make_shared<Graph>();
      decodeGraph(r.message(), *attribute.graph, depth + 1);
      seen = Kind::Graph;
      break;
    case 7:
      r.floats([&](float f) { attribute.floats.push_back(f); });
      seen = Kind::Floats;
      break;
    case 8:
      r.integers([&](int64_t i) { attribute.ints.push_back(i); });
      seen = Kind::Ints;
      break;
    case 9:
      attribute.strings.push_back(r.string());
      seen = Kind::Strings;
      break;
    case 20:
      if (r.integer() > 0 && r.integer() <= static_cast<int64_t>(Kind::TypeProtos))
        stated = static_cast<Kind>(r.integer());
      break;
    case 21:
      attribute.reference = r.string();
      break;
    case 22:
      seen = Kind::SparseTensor;
      break;
    }
  }
  attribute.kind = stated == Kind::Undefined ? seen : stated;
  // A type that promises a value which is not there.
  if ((attribute.kind == Kind::Tensor && !attribute.tensor) || (attribute.kind == Kind::Graph && !attribute.graph))
    attribute.kind = Kind::Undefined;
}

void Decoder::decodeNode(WireReader r, Node &node, int depth) {
  while (r.next()) {
    switch (r.field) {
    case 1:
      node.inputs.push_back(r.string());
      break;
    case 2:
      node.outputs.push_back(r.string());
      break;
    case 3:
      node.name = r.string();
      break;
    case 4:
      node.opType = r.string();
      break;
    case 5:
      node.attributes.emplace_back();
      decodeAttribute(r.message(), node.attributes.back(), depth);
      break;
    case 7:
      node.domain = normalDomain(r.string());
      break;
    }
  }
}

void Decoder::decodeGraph(WireReader r, Graph &graph, int depth) {
  if (depth > kMaxNesting) {
    r.fail("subgraphs are nested too deeply");
    return;
  }
  while (r.next()) {
    switch (r.field) {
    case 1:
      graph.nodes.emplace_back();
      decodeNode(r.message(), graph.nodes.back(), depth);
      break;
    case 2:
      graph.name = r.string();
      break;
    case 5:
      graph.initializers.emplace_back();
      decodeTensor(r.message(), graph.initializers.back());
      break;
    case 11:
    case 12:
    case 13: {
      auto &list = r.field == 11 ? graph.inputs : r.field == 12 ? graph.outputs : graph.values;
      decodeValueInfo(r.message(), list.emplace_back());
      break;
    }
    case 15: { // sparse_initializer { values: TensorProto }
      std::string name;
      for (WireReader s = r.message(); s.next();)
        if (s.field == 1)
          for (WireReader t = s.message(); t.next();)
            if (t.field == 8)
              name = t.string();
      graph.sparseInitializers.push_back(name);
      break;
    }
    }
  }
}

void Decoder::decodeFunction(WireReader r, Function &function) {
  while (r.next()) {
    switch (r.field) {
    case 1:
      function.name = r.string();
      break;
    case 4:
      function.inputs.push_back(r.string());
      break;
    case 5:
      function.outputs.push_back(r.string());
      break;
    case 7:
      function.nodes.emplace_back();
      decodeNode(r.message(), function.nodes.back(), 1);
      break;
    case 9:
      decodeOpset(r.message(), function.opsets);
      break;
    case 10:
      function.domain = normalDomain(r.string());
      break;
    case 11:
      function.defaults.emplace_back();
      decodeAttribute(r.message(), function.defaults.back(), 1);
      break;
    }
  }
}

bool Decoder::decode() {
  StringRef buffer = model.files[0].buffer->getBuffer();
  base = reinterpret_cast<const uint8_t *>(buffer.data());
  bool hasGraph = false;
  for (WireReader r(base, base, base + buffer.size(), error); r.next();) {
    switch (r.field) {
    case 1:
      model.irVersion = r.wire == WireReader::Varint ? r.integer() : 0;
      break;
    case 2:
      model.producer = r.string();
      break;
    case 7:
      hasGraph |= r.isBytes();
      decodeGraph(r.message(), model.graph, 0);
      break;
    case 8:
      decodeOpset(r.message(), model.opsets);
      break;
    case 25:
      model.functions.emplace_back();
      decodeFunction(r.message(), model.functions.back());
      break;
    }
  }
  if (error.what && model.irVersion == 0)
    problem(Problem::Malformed, "this is not an ONNX model (no protobuf message with an ir_version)");
  else if (error.what)
    problem(Problem::Malformed, "this ONNX file is truncated or damaged: " + Twine(error.what) + " (at byte " +
                                    Twine(error.offset) + " of " + Twine(buffer.size()) + "); copy or export it again");
  else if (!hasGraph)
    problem(Problem::Malformed, model.irVersion > 0 ? "this ONNX file holds no graph; it is truncated or no model"
                                                    : "this is not an ONNX model (no graph in it)");
  else if (model.opsets.empty() && model.irVersion >= 3)
    problem(Problem::Malformed, "this ONNX file does not say which opset it uses (opset_import); it is truncated or "
                                "was not saved right, export it again");
  if (model.opsets.empty())
    model.opsets[""] = 1;
  return diagnostics.ok();
}

bool Decoder::decodeTensorFile(int file, Tensor &tensor) {
  StringRef buffer = model.files[file].buffer->getBuffer();
  base = reinterpret_cast<const uint8_t *>(buffer.data());
  fileIndex = file;
  decodeTensor(WireReader(base, base, base + buffer.size(), error), tensor);
  if (error.what)
    problem(Problem::Malformed, "this is not a TensorProto, or is damaged: " + Twine(error.what));
  return diagnostics.ok();
}

/// Why a tensor can't be the value of an input; empty if it can.
static std::string misfit(const ValueInfo &input, const Tensor &tensor) {
  if (input.kind != ValueInfo::Kind::Tensor)
    return "";
  if (input.type != DataType::Undefined && input.type != tensor.type)
    return "it holds " + nameOf(tensor.type) + ", the model's input is of " + nameOf(input.type);
  if (!input.hasShape)
    return "";
  bool fits = input.dims.size() == tensor.dims.size();
  for (size_t i = 0; fits && i < tensor.dims.size(); ++i)
    fits = !input.dims[i].value || *input.dims[i].value < 0 || *input.dims[i].value == tensor.dims[i];
  return fits ? "" : "its shape is not the one that the model's input has";
}

bool stint::import::addConstant(Model &model, StringRef name, StringRef path, Diagnostics &diagnostics) {
  auto input = llvm::find_if(model.graph.inputs, [&](const ValueInfo &v) { return v.name == name; });
  if (input == model.graph.inputs.end()) {
    diagnostics.report(Problem::Usage, "constant '" + name + "': the model has no input of that name");
    return false;
  }
  auto buffer = readRegularFile(path);
  if (!buffer) {
    diagnostics.report(Problem::Failed, "cannot read '" + path + "': " + llvm::toString(buffer.takeError()));
    return false;
  }
  model.files.push_back({path.str(), std::move(*buffer)});
  Tensor tensor;
  if (!Decoder(model, path, diagnostics).decodeTensorFile(model.files.size() - 1, tensor))
    return false;
  // Writers without a bfloat16 of their own, ONNX's among them, say uint16.
  if (input->type == DataType::BFloat16 && tensor.type == DataType::UInt16)
    tensor.type = DataType::BFloat16;
  if (std::string why = misfit(*input, tensor); !why.empty()) {
    diagnostics.report(Problem::Usage, "constant '" + name + "' from '" + path + "': " + why);
    return false;
  }
  tensor.name = name.str();
  model.graph.initializers.push_back(std::move(tensor));
  return true;
}

std::unique_ptr<Model> stint::import::readModel(StringRef path, Diagnostics &diagnostics) {
  auto buffer = readRegularFile(path);
  if (!buffer) {
    diagnostics.report(Problem::Failed, "cannot read '" + path + "': " + llvm::toString(buffer.takeError()));
    return nullptr;
  }
  return readModel(std::move(*buffer), path, diagnostics);
}

std::unique_ptr<Model> stint::import::readModel(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                                Diagnostics &diagnostics) {
  if (file->getBufferSize() == 0) {
    diagnostics.report(Problem::Malformed, "'" + path + "' is empty, not an ONNX model");
    return nullptr;
  }
  auto model = std::make_unique<Model>();
  model->files.push_back({path.str(), std::move(file)});
  if (!Decoder(*model, path, diagnostics).decode())
    return nullptr;
  return model;
}
