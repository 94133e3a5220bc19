// Dynamic dimensions without --dim get the range that the inputs have. Inputs
// that the compiler needs as constants are named with --constant; their data
// in the sets is not looked at.
#include "compiler/driver/Verify.h"

#include "compiler/import/OnnxReader.h"
#include "compiler/weights/Convert.h"
#include "mlir/IR/Builders.h"
#include "stint/stint.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <cmath>
#include <cstring>

using namespace llvm;
using namespace stint;
using namespace stint::driver;
using import::Problem;

namespace {

/// A tensor of a file, with what keeps its bytes alive.
struct FileTensor {
  std::unique_ptr<import::Model> holder;
  import::Tensor tensor;
  ArrayRef<uint8_t> bytes() const { return holder->bytes(tensor); }
};

struct DataSet {
  std::string name;
  std::vector<FileTensor> inputs, outputs;
};

/// True if a file's tensor can be compared with, or copied to, one of the
/// plan's. Writers without a bfloat16 of their own, ONNX's among them, say
/// uint16.
bool sameType(import::DataType file, int32_t plan) {
  return static_cast<int32_t>(file) == plan ||
         (file == import::DataType::UInt16 && plan == static_cast<int32_t>(import::DataType::BFloat16));
}

/// Largest difference of two tensors, and whether it is tolerated.
struct Difference {
  double absolute = 0; // largest |got - wanted|
  double scale = 0;    // largest |wanted|
  uint64_t beyond = 0; // elements out of tolerance
};

class Verification {
public:
  Verification(const VerifyOptions &options, raw_ostream &os, import::Diagnostics &diagnostics)
      : options(options), os(os), diagnostics(diagnostics) {}
  ~Verification() {
    stint_model_release(plan);
    if (!planPath.empty()) {
      sys::fs::remove(planPath);
      sys::DontRemoveFileOnSignal(planPath);
    }
  }

  int run();

private:
  bool readData();
  bool readTensors(StringRef folder, StringRef prefix, std::vector<FileTensor> &tensors);
  void boundDims(StringMap<import::DimBounds> &dims);
  bool compileModel();
  bool runSet(const DataSet &set, bool &same);
  bool compare(const DataSet &set, stint_session *session, bool &same);
  Difference difference(const import::Tensor &tensor, import::DataType dataType, const uint8_t *got,
                        const uint8_t *wanted) const;
  bool check(stint_status status, StringRef what) {
    if (status.code == STINT_OK)
      return true;
    char text[512];
    stint_status_format(&status, plan, text, sizeof(text));
    diagnostics.report(Problem::Failed, what + ": " + text);
    return false;
  }

  const VerifyOptions &options;
  raw_ostream &os;
  import::Diagnostics &diagnostics;
  std::unique_ptr<import::Model> model;
  std::vector<std::string> inputNames; // inputs of the graph that no initializer fills
  std::vector<DataSet> sets;
  std::string planPath;
  stint_model *plan = nullptr;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

bool Verification::readTensors(StringRef folder, StringRef prefix, std::vector<FileTensor> &tensors) {
  for (size_t i = 0;; ++i) {
    SmallString<256> path(folder);
    sys::path::append(path, prefix + Twine(i) + ".pb");
    if (!sys::fs::exists(path))
      return true;
    FileTensor file;
    file.holder = std::make_unique<import::Model>();
    file.holder->graph.inputs.push_back({});
    if (!import::addConstant(*file.holder, "", path, diagnostics))
      return false;
    file.tensor = file.holder->graph.initializers.back();
    tensors.push_back(std::move(file));
  }
}

bool Verification::readData() {
  std::string folder = options.data;
  if (folder.empty())
    folder = sys::path::parent_path(options.compile.input).str();
  if (folder.empty())
    folder = ".";
  std::vector<std::string> folders;
  std::error_code error;
  for (sys::fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (sys::path::filename(i->path()).starts_with("test_data_set_"))
      folders.push_back(i->path());
  if (error || folders.empty()) {
    diagnostics.report(Problem::Failed,
                       "'" + folder + "' holds no folder test_data_set_*: name the right one with --data");
    return false;
  }
  llvm::sort(folders);
  for (const std::string &path : folders) {
    DataSet set;
    set.name = sys::path::filename(path).str();
    if (!readTensors(path, "input_", set.inputs) || !readTensors(path, "output_", set.outputs))
      return false;
    sets.push_back(std::move(set));
  }
  return true;
}

void Verification::boundDims(StringMap<import::DimBounds> &dims) {
  StringMap<import::DimBounds> seen;
  for (const DataSet &set : sets)
    for (size_t number = 0; number < inputNames.size(); ++number) {
      const std::string &name = inputNames[number];
      if (options.compile.constants.count(name))
        continue;
      auto input = llvm::find_if(model->graph.inputs, [&](const import::ValueInfo &v) { return v.name == name; });
      if (number >= set.inputs.size() || input->dims.size() != set.inputs[number].tensor.dims.size())
        continue;
      for (auto [axis, dim] : enumerate(input->dims)) {
        if (dim.value)
          continue;
        int64_t value = set.inputs[number].tensor.dims[axis];
        std::string symbol = dim.param.empty() ? name + "_" + std::to_string(axis) : dim.param;
        auto [entry, isNew] = seen.try_emplace(symbol, import::DimBounds{value, value});
        entry->second.lower = std::min(entry->second.lower, value);
        entry->second.upper = std::max(entry->second.upper, value);
      }
    }
  for (const auto &entry : seen)
    dims.try_emplace(entry.getKey(), entry.getValue());
}

bool Verification::compileModel() {
  Options compileOptions = options.compile;
  boundDims(compileOptions.dims);
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("stint-verify", "stint", path)) {
    diagnostics.report(Problem::Failed, "cannot make a temporary file: " + error.message());
    return false;
  }
  planPath = path.str().str();
  sys::RemoveFileOnSignal(planPath);
  compileOptions.output = planPath;
  compileOptions.emit = Emit::File;
  if (!compile(compileOptions, diagnostics, os).ok)
    return false;
  stint_model_options modelOptions = {};
  modelOptions.size = sizeof(modelOptions);
  modelOptions.verify = STINT_VERIFY_FULL;
  modelOptions.variant = options.variant.empty() ? nullptr : options.variant.c_str();
  return check(stint_model_open_file(planPath.c_str(), &modelOptions, &plan), "the compiled plan");
}

static mlir::Type elementType(import::DataType type, mlir::MLIRContext *context) {
  using import::DataType;
  mlir::Builder builder(context);
  switch (type) {
  case DataType::Float:
    return builder.getF32Type();
  case DataType::Double:
    return builder.getF64Type();
  case DataType::Float16:
    return builder.getF16Type();
  case DataType::BFloat16:
    return builder.getBF16Type();
  case DataType::Bool:
    return builder.getI1Type();
  case DataType::Int8:
  case DataType::Int16:
  case DataType::Int32:
  case DataType::Int64:
    return builder.getIntegerType(import::bitsOf(type));
  default:
    return builder.getIntegerType(import::bitsOf(type), /*isSigned=*/false);
  }
}

Difference Verification::difference(const import::Tensor &tensor, import::DataType dataType, const uint8_t *got,
                                    const uint8_t *wanted) const {
  mlir::Type type = elementType(dataType, const_cast<mlir::MLIRContext *>(&context));
  mlir::Type wide = mlir::Float64Type::get(const_cast<mlir::MLIRContext *>(&context));
  uint64_t size = import::bitsOf(tensor.type) / 8;
  Difference result;
  for (uint64_t i = 0; i < tensor.elements(); ++i) {
    double a, b;
    weights::convert(type, got + i * size, wide, reinterpret_cast<uint8_t *>(&a), 1);
    weights::convert(type, wanted + i * size, wide, reinterpret_cast<uint8_t *>(&b), 1);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double distance = std::abs(a - b);
    if (!(distance <= options.absolute + options.relative * std::abs(b)))
      ++result.beyond;
    result.absolute = std::isnan(distance) ? INFINITY : std::max(result.absolute, distance);
    if (std::isfinite(b))
      result.scale = std::max(result.scale, std::abs(b));
  }
  return result;
}

bool Verification::compare(const DataSet &set, stint_session *session, bool &same) {
  for (auto [i, wanted] : enumerate(set.outputs)) {
    stint_port_info port = {};
    port.size = sizeof(port);
    stint_tensor got = {};
    got.size = sizeof(got);
    if (!check(stint_model_output(plan, 0, i, &port), set.name) ||
        !check(stint_session_output(session, i, &got), set.name))
      return false;
    os << formatv("{0}: {1}: ", set.name, port.name);
    bool shapes = sameType(wanted.tensor.type, got.type) &&
                  ArrayRef<int64_t>(got.dims, got.rank) == ArrayRef<int64_t>(wanted.tensor.dims);
    if (!shapes || got.bytes != wanted.bytes().size()) {
      auto shape = [](ArrayRef<int64_t> dims) {
        std::string text;
        for (int64_t dim : dims)
          text += (text.empty() ? "" : ", ") + std::to_string(dim);
        return "[" + text + "]";
      };
      os << stint_type_name(got.type) << shape(ArrayRef<int64_t>(got.dims, got.rank)) << ", expected "
         << import::nameOf(wanted.tensor.type) << shape(wanted.tensor.dims) << "\n";
      same = false;
      continue;
    }
    Difference d =
        difference(wanted.tensor, import::DataType(got.type), static_cast<uint8_t *>(got.data), wanted.bytes().data());
    os << format("largest difference %.4g (values up to %.4g)", d.absolute, d.scale);
    if (d.beyond)
      os << formatv(", {0} of {1} elements beyond the tolerance", d.beyond, wanted.tensor.elements());
    os << "\n";
    same &= d.beyond == 0;
  }
  return true;
}

bool Verification::runSet(const DataSet &set, bool &same) {
  if (set.inputs.size() != inputNames.size() || set.outputs.size() > stint_model_output_count(plan, 0)) {
    diagnostics.report(Problem::Failed, set.name + ": " + Twine(set.inputs.size()) + " inputs and " +
                                            Twine(set.outputs.size()) + " outputs are given, the model has " +
                                            Twine(inputNames.size()) + " and " +
                                            Twine(stint_model_output_count(plan, 0)));
    return false;
  }
  stint_executor *executor = nullptr;
  stint_session *session = nullptr;
  stint_executor_options executorOptions = {};
  executorOptions.size = sizeof(executorOptions);
  executorOptions.threads = options.threads;
  bool done = check(stint_executor_create(&executorOptions, &executor), set.name);
  stint_session_options sessionOptions = {};
  sessionOptions.size = sizeof(sessionOptions);
  sessionOptions.executor = executor;
  done = done && check(stint_session_create(plan, &sessionOptions, &session), set.name);
  for (size_t i = 0; done && i < set.inputs.size(); ++i) {
    const import::Tensor &tensor = set.inputs[i].tensor;
    // The compiled plan keeps the model's inputs in order, by name.
    stint_port_info port = {};
    port.size = sizeof(port);
    uint32_t number = 0;
    while (stint_model_input(plan, 0, number, &port).code == STINT_OK && inputNames[i] != port.name)
      ++number;
    if (number == stint_model_input_count(plan, 0))
      continue; // a constant, or nothing depends on it
    stint_tensor place = {};
    place.size = sizeof(place);
    done = check(stint_session_set_input_shape(session, number, tensor.dims.size(), tensor.dims.data()), set.name) &&
           check(stint_session_input(session, number, &place), set.name);
    if (done && (place.bytes != set.inputs[i].bytes().size() || !sameType(tensor.type, place.type))) {
      diagnostics.report(Problem::Failed,
                         set.name + ": input '" + inputNames[i] + "' has another type or size than the model says");
      done = false;
    }
    if (done)
      std::memcpy(place.data, set.inputs[i].bytes().data(), place.bytes);
  }
  done = done && check(stint_session_run(session, nullptr), set.name) && compare(set, session, same);
  stint_session_destroy(session);
  stint_executor_release(executor);
  return done;
}

int Verification::run() {
  model = import::readModel(options.compile.input, diagnostics);
  if (!model)
    return diagnostics.exitCode();
  for (const import::ValueInfo &input : model->graph.inputs)
    if (llvm::none_of(model->graph.initializers, [&](const import::Tensor &t) { return t.name == input.name; }))
      inputNames.push_back(input.name);
  if (!readData() || !compileModel())
    return diagnostics.exitCode();
  bool same = true;
  for (const DataSet &set : sets)
    if (!runSet(set, same))
      return diagnostics.exitCode();
  os << (same ? "all outputs agree\n" : "outputs differ\n");
  return same ? 0 : 1;
}

} // namespace

int driver::verify(const VerifyOptions &options, raw_ostream &os, import::Diagnostics &diagnostics) {
  int code = Verification(options, os, diagnostics).run();
  diagnostics.print(errs());
  return code;
}
