// WeightFiles: see the header of that name.
#include "compiler/driver/WeightFiles.h"

#include "compiler/import/Model.h"
#include "dialects/Graph/GraphDialect.h"
#include "llvm/ADT/StringExtras.h"

#include <unistd.h>

using namespace llvm;
using namespace stint;
using namespace stint::driver;

static Error problem(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

Error WeightFiles::open(mlir::ModuleOp module, ArrayRef<uint8_t> inlineBytes) {
  for (auto path : module->getAttrOfType<mlir::ArrayAttr>(graph::kFilesAttr).getAsRange<mlir::StringAttr>()) {
    if (path == import::InlineData::kPath) {
      files.push_back(inlineBytes);
      continue;
    }
    auto buffer = MemoryBuffer::getFile(path.getValue(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return problem("cannot read '" + path.str() + "': " + buffer.getError().message());
    files.push_back(arrayRefFromStringRef((*buffer)->getBuffer()));
    buffers.push_back(std::move(*buffer));
  }
  return Error::success();
}

Expected<weights::Hash> WeightFiles::hashOf(StringRef modelFile) const {
  std::vector<uint8_t> hashes;
  auto add = [&](const MemoryBuffer &file) {
    weights::Hash hash = weights::hash(arrayRefFromStringRef(file.getBuffer()));
    hashes.insert(hashes.end(), hash.begin(), hash.end());
  };
  auto model = MemoryBuffer::getFile(modelFile, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!model)
    return problem("cannot read '" + modelFile + "': " + model.getError().message());
  add(**model);
  for (const std::unique_ptr<MemoryBuffer> &file : buffers)
    if (file->getBufferIdentifier() != modelFile)
      add(*file);
  return weights::hash(hashes);
}

Expected<MutableArrayRef<uint8_t>> WeightFiles::add(mlir::ModuleOp module, uint64_t size) {
  int descriptor = -1;
  SmallString<128> path;
  std::error_code error = sys::fs::createTemporaryFile("stint-folded", "bin", descriptor, path);
  if (error)
    return problem("cannot make a temporary file '" + path + "': " + error.message() + "; TMPDIR says where");
  sys::fs::remove(path); // lives on until it is unmapped
  error = sys::fs::resize_file(descriptor, size);
  if (!error)
    regions.emplace_back(descriptor, sys::fs::mapped_file_region::readwrite, size, 0, error);
  close(descriptor);
  if (error)
    return problem("cannot write a temporary file of " + Twine(size) + " bytes: " + error.message());

  mlir::Builder builder(module.getContext());
  SmallVector<mlir::Attribute> names(module->getAttrOfType<mlir::ArrayAttr>(graph::kFilesAttr).getValue());
  names.push_back(builder.getStringAttr("<folded>"));
  module->setAttr(graph::kFilesAttr, builder.getArrayAttr(names));
  MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(regions.back().data()), size);
  files.push_back(bytes);
  return bytes;
}
