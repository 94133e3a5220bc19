// StaticLibrary: see the header of that name.
#include "compiler/driver/StaticLibrary.h"

#include "compiler/serialise/FileWriter.h"
#include "compiler/serialise/PlanBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace stint;

/// The header: declarations, the table of kernels, and the scratch they need.
static std::string headerText(ArrayRef<mlir::func::FuncOp> kernels, uint64_t scratch, StringRef stem) {
  std::string text;
  raw_string_ostream os(text);
  os << "// Kernels of " << stem << ", made by stint. Include in one C or C++ file and give\n"
     << "// the table to stint_model_open_*: options.static_kernels = stint_kernels,\n"
     << "// options.static_kernel_count = stint_kernel_count, options.static_scratch =\n"
     << "// stint_kernel_scratch.\n"
     << "#include \"stint/stint.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (mlir::func::FuncOp kernel : kernels)
    os << "int32_t " << kernel.getName() << "(const struct stint_dispatch *, const struct stint_workgroup *);\n";
  os << "#ifdef __cplusplus\n}\n#endif\n\nstatic const stint_static_kernel stint_kernels[] = {\n";
  for (mlir::func::FuncOp kernel : kernels) {
    os << "  {{";
    ListSeparator comma(",");
    for (uint8_t byte : serialise::hashKernel(kernel))
      os << comma << unsigned(byte);
    os << "}, " << kernel.getName() << "},\n";
  }
  os << "};\n"
     << "static const size_t stint_kernel_count = " << kernels.size() << ";\n"
     << "static const uint64_t stint_kernel_scratch = " << scratch << ";\n";
  return os.str();
}

Error driver::writeStaticLibrary(mlir::ModuleOp module, ArrayRef<char> object, uint64_t scratch, StringRef path) {
  StringRef stem = sys::path::stem(path);
  std::string member = (stem + ".o").str();
  std::vector<NewArchiveMember> members;
  members.emplace_back(MemoryBufferRef(StringRef(object.data(), object.size()), member));
  auto archive = writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                                      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  if (Error error = serialise::writeFile(path, arrayRefFromStringRef((*archive)->getBuffer())))
    return error;
  SmallString<256> header(path);
  sys::path::replace_extension(header, "h");
  return serialise::writeFile(header, arrayRefFromStringRef(headerText(serialise::kernelsOf(module), scratch, stem)));
}
