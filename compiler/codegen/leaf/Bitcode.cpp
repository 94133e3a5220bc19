// Links leaf functions into a module. Bitcode is read lazily: of a source with
// a function for every type, one is parsed.
#include "compiler/codegen/leaf/Bitcode.h"

#include "dialects/Graph/Leaves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
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

/// The machines whose bitcode the variant can run, the best first. What each
/// needs is what StintBitcode.cmake compiles it with.
static SmallVector<StringRef> machinesOf(const target::Variant &variant) {
  static constexpr std::pair<StringLiteral, StringLiteral> kVersions[] = {
      {"x86_64_vnni", "avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512vnni"},
      {"x86_64_avx512", "avx2 fma f16c avx512f avx512bw avx512dq avx512vl"},
      {"x86_64_avx2", "avx2 fma f16c"},
      {"aarch64_i8mm", "dotprod i8mm"},
      {"aarch64_dotprod", "dotprod"},
  };
  StringRef baseline = variant.machine == target::Machine::x86_64 ? "x86_64" : "aarch64";
  SmallVector<StringRef> machines;
  for (auto [machine, needs] : kVersions) {
    SmallVector<StringRef> features;
    needs.split(features, ' ');
    if (machine.starts_with(baseline) && llvm::all_of(features, [&](StringRef f) { return variant.has(f); }))
      machines.push_back(machine);
  }
  machines.push_back(baseline);
  return machines;
}

static Error linkSource(Module &module, StringRef source, const target::Variant &variant) {
  for (StringRef machine : machinesOf(variant)) {
    const Bitcode *found = llvm::find_if(
        kBitcode, [&](const Bitcode &bitcode) { return bitcode.source == source && bitcode.machine == machine; });
    if (found == std::end(kBitcode))
      continue;
    const Bitcode &bitcode = *found;
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
