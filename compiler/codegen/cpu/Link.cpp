// Links a variant's objects with LLD, in this process, into one flat blob.
//
// The link is that of a shared library with all text and read-only data in one
// section that starts a page; what a dynamic loader would need lies around it
// and is cut off. With hidden symbols and PC-relative code nothing is left to
// relocate, which is checked, as is that nothing is writable.
#include "compiler/codegen/cpu/CpuBackend.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace stint;
using namespace stint::codegen;

static constexpr StringLiteral kScript = R"(
SECTIONS {
  .blob : ALIGN(4096) { *(.text .text.*) . = ALIGN(64); *(.rodata .rodata.*) }
  .writable : { *(.data .data.* .bss .bss.* COMMON .got .got.plt .tdata .tbss .init_array .fini_array .data.rel.ro .data.rel.ro.*) }
  /DISCARD/ : { *(.comment) *(.eh_frame) *(.note.*) *(.debug*) }
}
)";

static Error makeError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

static Error writeFile(const Twine &path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream out(path.str(), error);
  if (!error) {
    out << bytes;
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error)
    return makeError("cannot write " + path + ": " + error.message() + " (the linker needs temporary files)");
  return Error::success();
}

/// Cuts the blob out of the linked file after checking it.
static Expected<LinkedCode> flatten(StringRef file, ArrayRef<std::string> kernels) {
  using namespace object;
  Expected<std::unique_ptr<ObjectFile>> parsed = ObjectFile::createObjectFile(MemoryBufferRef(file, "linked"));
  if (!parsed)
    return parsed.takeError();
  auto *elf = dyn_cast<ELFObjectFileBase>(parsed->get());
  if (!elf)
    return makeError("internal error: the linker did not write ELF");
  LinkedCode code;
  uint64_t base = 0;
  for (const ELFSectionRef section : elf->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    bool allocated = section.getFlags() & ELF::SHF_ALLOC;
    if (*name == ".blob") {
      Expected<StringRef> bytes = section.getContents();
      if (!bytes)
        return bytes.takeError();
      base = section.getAddress();
      if (base % 4096 != 0)
        return makeError("internal error: code was not linked at the start of a page");
      code.bytes.assign(bytes->begin(), bytes->end());
    } else if (allocated && section.getSize() != 0) {
      if (section.getType() == ELF::SHT_REL || section.getType() == ELF::SHT_RELA || section.getType() == ELF::SHT_RELR)
        return makeError("internal error: kernels need relocations");
      if ((section.getFlags() & ELF::SHF_WRITE) && section.getType() != ELF::SHT_DYNAMIC)
        return makeError("internal error: kernels have writable data (" + *name + ")");
      if (section.getType() == ELF::SHT_PROGBITS)
        return makeError("internal error: section " + *name + " of kernels has no place");
    }
  }
  StringMap<uint64_t> addresses;
  for (const ELFSymbolRef symbol : elf->symbols()) {
    Expected<StringRef> name = symbol.getName();
    Expected<uint64_t> address = symbol.getAddress();
    if (!name)
      return name.takeError();
    if (!address)
      return address.takeError();
    addresses[*name] = *address;
  }
  for (const std::string &kernel : kernels) {
    auto found = addresses.find(kernel);
    if (found == addresses.end() || found->second - base >= code.bytes.size())
      return makeError("internal error: kernel '" + kernel + "' is missing from the linked code");
    code.entries.push_back(found->second - base);
  }
  return code;
}

Expected<LinkedCode> codegen::linkVariant(ArrayRef<ArrayRef<char>> objects, ArrayRef<std::string> kernels,
                                          const target::Variant &variant) {
  if (kernels.empty())
    return LinkedCode();
  static std::mutex mutex; // LLD has global state
  std::lock_guard<std::mutex> lock(mutex);

  SmallString<128> folder;
  if (std::error_code error = sys::fs::createUniqueDirectory("stint-link", folder))
    return makeError("cannot make a temporary folder: " + error.message());
  auto cleanUp = make_scope_exit([&] { sys::fs::remove_directories(folder); });
  auto path = [&](const Twine &name) { return (folder + "/" + name).str(); };

  if (Error error = writeFile(path("script"), kScript))
    return std::move(error);
  // -u in a response file: command lines of thousands of kernels stay short.
  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "-Bsymbolic",
                                    "-z",
                                    "text",
                                    "-z",
                                    "norelro",
                                    "-z",
                                    "nognustack",
                                    "--no-undefined",
                                    "--gc-sections",
                                    "--icf=all",
                                    "--hash-style=gnu",
                                    "--build-id=none",
                                    "--threads=1",
                                    "-m",
                                    variant.machine == target::Machine::x86_64 ? "elf_x86_64" : "aarch64linux",
                                    "-T",
                                    path("script"),
                                    "-o",
                                    path("linked")};
  for (const std::string &kernel : kernels) {
    words.push_back("-u");
    words.push_back(kernel);
  }
  for (auto [i, object] : llvm::enumerate(objects)) {
    std::string name = path(std::to_string(i) + ".o");
    if (Error error = writeFile(name, StringRef(object.data(), object.size())))
      return std::move(error);
    words.push_back(name);
  }
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return makeError("internal error: linking kernels failed: " + StringRef(messages).trim());
  auto linked = MemoryBuffer::getFile(path("linked"), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return makeError("cannot read the linked code: " + linked.getError().message());
  return flatten((*linked)->getBuffer(), kernels);
}
