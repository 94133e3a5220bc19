// Options: see the header of that name.
#include "compiler/driver/Options.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace stint;
using namespace stint::driver;

static Error problem(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

std::optional<Emit> driver::parseEmit(StringRef word) {
  return StringSwitch<std::optional<Emit>>(word)
      .Case("graph", Emit::Graph)
      .Case("schedule", Emit::Schedule)
      .Case("plan", Emit::Plan)
      .Case("kernel", Emit::Kernel)
      .Case("llvm", Emit::Llvm)
      .Case("asm", Emit::Assembly)
      .Case("object", Emit::Object)
      .Case("static-library", Emit::StaticLibrary)
      .Default(std::nullopt);
}

Error driver::parseDim(StringRef text, StringMap<import::DimBounds> &dims) {
  auto [name, range] = text.rsplit('=');
  import::DimBounds bounds;
  auto [span, step] = range.split(':');
  bool isRange = span.contains(".."), hasStep = range.contains(':');
  auto [low, high] = span.split("..");
  if (name.empty() || name == text || low.getAsInteger(10, bounds.lower) ||
      (isRange ? high : low).getAsInteger(10, bounds.upper) ||
      (hasStep && (!isRange || step.getAsInteger(10, bounds.step))))
    return problem("--dim '" + text +
                   "': expected NAME=N, NAME=LO..HI or NAME=LO..HI:STEP, as in batch=1, width=48..640 or "
                   "height=32..960:32");
  if (bounds.lower < 0 || bounds.upper < bounds.lower)
    return problem("--dim '" + text + "': the bounds must be 0 <= LO <= HI");
  if (bounds.step < 1 || bounds.lower % bounds.step || bounds.upper % bounds.step)
    return problem("--dim '" + text + "': the bounds must be multiples of the step, which is positive");
  if (bounds.upper > int64_t(1) << 40)
    return problem("--dim '" + text + "': no tensor has a dimension as large as that");
  if (auto [entry, isNew] = dims.try_emplace(name, bounds); !isNew)
    return problem("--dim '" + text + "': dimension '" + name + "' is given twice");
  return Error::success();
}

Error driver::parseBound(StringRef text, StringMap<int64_t> &bounds) {
  auto [key, number] = text.rsplit('=');
  auto [value, axis] = key.rsplit('.');
  int64_t most = 0;
  unsigned dim = 0;
  if (value.empty() || axis.getAsInteger(10, dim) || number.getAsInteger(10, most) || most < 0 ||
      most > (int64_t(1) << 40))
    return problem("--bound '" + text + "': expected VALUE.AXIS=N, as in selected.0=100");
  if (!bounds.try_emplace(key, most).second)
    return problem("--bound '" + text + "': axis " + axis + " of '" + value + "' is given twice");
  return Error::success();
}

Error driver::parseState(StringRef text, std::vector<std::pair<std::string, std::string>> &states) {
  auto [input, output] = text.split('=');
  if (input.empty() || output.empty())
    return problem("--state '" + text + "': expected IN=OUT, as in state=stateN");
  states.push_back({input.str(), output.str()});
  return Error::success();
}

Expected<ProfileRequest> driver::parseProfile(StringRef text) {
  ProfileRequest request;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, number] = part.rsplit('=');
    int64_t most = 0;
    if (name.empty() || number.getAsInteger(10, most) || most < 0)
      return problem("--profile '" + text + "': expected NAME=N[,NAME=N], as in batch=1,seq=128");
    if (llvm::any_of(request, [&](const auto &other) { return other.first == name; }))
      return problem("--profile '" + text + "': dimension '" + name + "' is given twice");
    request.push_back({name.str(), most});
  }
  return request;
}

Error driver::parseConstant(StringRef text, StringMap<std::string> &constants) {
  auto [name, path] = text.split('=');
  if (name.empty() || path.empty())
    return problem("--constant '" + text + "': expected NAME=FILE, as in axes=axes.pb");
  if (!constants.try_emplace(name, path.str()).second)
    return problem("--constant '" + text + "': input '" + name + "' is given twice");
  return Error::success();
}

Expected<uint64_t> driver::parseBytes(StringRef text) {
  uint64_t factor = 1, value;
  StringRef digits = text;
  if (!text.empty()) {
    switch (text.back()) {
    case 'K':
      factor = 1ull << 10;
      break;
    case 'M':
      factor = 1ull << 20;
      break;
    case 'G':
      factor = 1ull << 30;
      break;
    }
    if (factor != 1)
      digits = text.drop_back();
  }
  if (digits.getAsInteger(10, value) || value > UINT64_MAX / factor)
    return problem("'" + text + "' is not a number of bytes, such as 65536, 64K or 16M");
  return value * factor;
}

Expected<std::string> driver::findModel(StringRef path) {
  if (!sys::fs::is_directory(path))
    return path.str();
  SmallString<256> standard(path);
  sys::path::append(standard, "model.onnx");
  if (sys::fs::exists(standard))
    return standard.str().str();
  std::vector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator i(path, error), end; !error && i != end; i.increment(error))
    if (sys::path::extension(i->path()) == ".onnx")
      found.push_back(i->path());
  if (found.size() != 1)
    return problem("'" + path + "' is a folder with " + Twine(found.size()) +
                   " .onnx files and no model.onnx: name the file");
  return found.front();
}
