// Links leaf functions into a module. Bitcode is read lazily: of a source with
// a function for every type, one is parsed.
#include "compiler/codegen/leaf/Bitcode.h"

#include "dialects/Graph/Leaves.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace stint;

namespace {
/// What one source was compiled to for one machine.
struct Bitcode {
  StringRef source, machine;
  const unsigned char *data;
  size_t size;
};
} // namespace

#include "Bitcode.inc"

static constexpr StringLiteral kPrefix = "stint_leaf_";

/// The source of a leaf function, by the table of leaves.
static StringRef sourceOf(StringRef function) {
  StringRef name = function.drop_front(kPrefix.size()).rsplit('_').first;
  const graph::Leaf *leaf = graph::findLeaf(name);
  return leaf ? leaf->source : StringRef();
}

static Error linkSource(Module &module, StringRef source, const target::Variant &variant) {
  StringRef machine = variant.machine == target::Machine::x86_64 ? "x86_64" : "aarch64";
  for (const Bitcode &bitcode : kBitcode) {
    if (bitcode.source != source || bitcode.machine != machine)
      continue;
    MemoryBufferRef buffer(StringRef(reinterpret_cast<const char *>(bitcode.data), bitcode.size), source);
    auto read = getLazyBitcodeModule(buffer, module.getContext());
    if (!read)
      return read.takeError();
    (*read)->setTargetTriple(module.getTargetTriple());
    (*read)->setDataLayout(module.getDataLayout());
    if (Linker::linkModules(module, std::move(*read), Linker::LinkOnlyNeeded))
      return createStringError(inconvertibleErrorCode(), "internal error: leaf kernels of " + source + " do not link");
    return Error::success();
  }
  return createStringError(inconvertibleErrorCode(), "internal error: no leaf kernels of '" + source + "'");
}

Error codegen::linkLeaves(Module &module, const target::Variant &variant) {
  StringSet<> own;
  SetVector<StringRef> sources;
  for (Function &function : module) {
    if (!function.isDeclaration())
      own.insert(function.getName());
    else if (function.getName().starts_with(kPrefix))
      sources.insert(sourceOf(function.getName()));
  }
  for (StringRef source : sources)
    if (Error error = linkSource(module, source, variant))
      return error;
  if (sources.empty())
    return Error::success();
  for (Function &function : module) {
    if (function.isDeclaration() || own.contains(function.getName()))
      continue;
    function.setLinkage(GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    for (StringRef name : {"target-cpu", "tune-cpu", "target-features", "min-legal-vector-width"})
      function.removeFnAttr(name);
  }
  return Error::success();
}
