// Reads an ONNX file: the only place that knows the protobuf wire format.
#ifndef STINT_COMPILER_IMPORT_ONNXREADER_H
#define STINT_COMPILER_IMPORT_ONNXREADER_H

#include "compiler/import/Diagnostics.h"
#include "compiler/import/Model.h"

namespace stint::import {

/// Maps the file at `path` and decodes it; files of external data are looked
/// for beside it and mapped too. Null after reporting a problem.
std::unique_ptr<Model> readModel(llvm::StringRef path, Diagnostics &diagnostics);

/// The same for a file that is in memory; `path` is what it is called, and
/// where external data is looked for.
std::unique_ptr<Model> readModel(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef path,
                                 Diagnostics &diagnostics);

/// Gives input `name` the value in a TensorProto file (`.pb`), as an
/// initializer. False after reporting a problem.
bool addConstant(Model &model, llvm::StringRef name, llvm::StringRef path, Diagnostics &diagnostics);

} // namespace stint::import

#endif
