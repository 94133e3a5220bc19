// StaticLibrary: see the header of that name. Functions are named for the
// library and the variant, so that kernels of several models and of several
// variants go into one application.
#include "compiler/driver/StaticLibrary.h"

#include "compiler/driver/CodeStage.h"
#include "compiler/serialise/FileWriter.h"
#include "compiler/serialise/PlanBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace stint;

namespace {
/// One variant's part of an archive.
struct Member {
  const target::Variant *variant;
  std::string prefix; // of its functions
  std::string suffix; // of its tables
  std::vector<char> object;
  uint64_t scratch = 0;
};
} // namespace

/// `text` as a C identifier.
static std::string identifier(StringRef text) {
  std::string result = text.empty() || isDigit(text[0]) ? "_" : "";
  for (char c : text)
    result += isAlnum(c) ? c : '_';
  return result;
}

/// The header: declarations, the tables of kernels, and the scratch they need.
static std::string headerText(ArrayRef<mlir::func::FuncOp> kernels, ArrayRef<Member> members, StringRef stem) {
  std::string text;
  raw_string_ostream os(text);
  os << "// Kernels of " << stem << ", made by stint. Include in one C or C++ file and give\n"
     << "// a table to stint_model_open_*: options.static_kernels = stint_kernels,\n"
     << "// options.static_kernel_count = stint_kernel_count, options.static_scratch =\n"
     << "// stint_kernel_scratch.\n";
  if (members.size() > 1)
    os << "// Several variants, worst first, each with its name after these: choose one that\n"
       << "// the processor has all features of.\n";
  os << "#include \"stint/stint.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (const Member &member : members)
    for (mlir::func::FuncOp kernel : kernels)
      os << "int32_t " << member.prefix << kernel.getName()
         << "(const struct stint_dispatch *, const struct stint_workgroup *);\n";
  os << "#ifdef __cplusplus\n}\n#endif\n";
  for (const Member &member : members) {
    os << "\n// " << member.variant->name << " of " << member.variant->family << ": "
       << (member.variant->features.empty() ? "baseline" : member.variant->features) << "\n"
       << "static const stint_static_kernel stint_kernels" << member.suffix << "[] = {\n";
    for (mlir::func::FuncOp kernel : kernels) {
      os << "  {{";
      ListSeparator comma(",");
      for (uint8_t byte : serialise::hashKernel(kernel))
        os << comma << unsigned(byte);
      os << "}, " << member.prefix << kernel.getName() << "},\n";
    }
    os << "};\n"
       << "static const size_t stint_kernel_count" << member.suffix << " = " << kernels.size() << ";\n"
       << "static const uint64_t stint_kernel_scratch" << member.suffix << " = " << member.scratch << ";\n";
  }
  return os.str();
}

static Error writeLibrary(mlir::ModuleOp module, ArrayRef<target::Variant> variants, StringRef path) {
  StringRef stem = sys::path::stem(path);
  std::vector<Member> parts;
  for (const target::Variant &variant : variants) {
    Member part{&variant, identifier(stem) + "_", "", {}};
    if (variants.size() > 1) {
      part.suffix = "_" + identifier(variant.name);
      part.prefix += identifier(variant.name) + "_";
    }
    auto object = driver::kernelObject(module, variant, part.prefix, part.scratch);
    if (!object)
      return object.takeError();
    part.object = std::move(*object);
    parts.push_back(std::move(part));
  }
  std::vector<std::string> names;
  for (const Member &part : parts)
    names.push_back((stem + (variants.size() > 1 ? "." + part.variant->name : "") + ".o").str());
  std::vector<NewArchiveMember> members;
  for (auto [part, name] : zip(parts, names))
    members.emplace_back(MemoryBufferRef(StringRef(part.object.data(), part.object.size()), name));
  auto archive = writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                                      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  if (Error error = serialise::writeFile(path, arrayRefFromStringRef((*archive)->getBuffer())))
    return error;
  SmallString<256> header(path);
  sys::path::replace_extension(header, "h");
  return serialise::writeFile(header, arrayRefFromStringRef(headerText(serialise::kernelsOf(module), parts, stem)));
}

Error driver::writeStaticLibraries(mlir::ModuleOp module, ArrayRef<target::Variant> variants, StringRef path) {
  bool several = any_of(variants, [&](const target::Variant &v) { return v.family != variants[0].family; });
  while (!variants.empty()) {
    ArrayRef<target::Variant> family =
        variants.take_while([&](const target::Variant &v) { return v.family == variants[0].family; });
    SmallString<256> name(path);
    if (several)
      sys::path::replace_extension(name, Twine(family[0].family) + sys::path::extension(path));
    if (Error error = writeLibrary(module, family, name))
      return error;
    variants = variants.drop_front(family.size());
  }
  return Error::success();
}
