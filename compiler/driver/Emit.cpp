// Emit: see the header of that name.
#include "compiler/driver/Emit.h"

#include "compiler/driver/CodeStage.h"
#include "compiler/serialise/FileWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace stint;
using namespace stint::driver;

llvm::Expected<std::string> driver::textOf(ModuleOp module, ArrayRef<target::Variant> variants, Emit emit) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (emit == Emit::Graph || emit == Emit::Schedule || emit == Emit::Plan) {
    module.print(os);
    os << "\n";
    return os.str();
  }
  StringRef comment = emit == Emit::Kernel ? "//" : emit == Emit::Llvm ? ";" : "#";
  for (const target::Variant &variant : variants) {
    auto kernels = kernelText(module, variant, emit);
    if (!kernels)
      return kernels.takeError();
    os << comment << " variant " << variant.name << " of " << variant.family << "\n" << *kernels;
  }
  return os.str();
}

llvm::Error driver::writeObjects(ModuleOp module, ArrayRef<target::Variant> variants, StringRef path) {
  for (const target::Variant &variant : variants) {
    uint64_t scratch = 0;
    auto object = kernelObject(module, variant, "", scratch);
    if (!object)
      return object.takeError();
    SmallString<256> name(path);
    if (variants.size() > 1)
      llvm::sys::path::replace_extension(name, Twine(variant.name) + llvm::sys::path::extension(path));
    auto bytes = llvm::arrayRefFromStringRef(StringRef(object->data(), object->size()));
    if (llvm::Error error = serialise::writeFile(name, bytes))
      return error;
  }
  return llvm::Error::success();
}
