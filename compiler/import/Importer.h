// From an ONNX model to a module of the graph dialect.
#ifndef STINT_COMPILER_IMPORT_IMPORTER_H
#define STINT_COMPILER_IMPORT_IMPORTER_H

#include "compiler/import/OnnxReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace stint::import {

/// Inclusive bounds of a dynamic dimension; equal bounds fix it. It is always
/// a multiple of `step`, and so are its bounds.
struct DimBounds {
  int64_t lower = 1, upper = 1, step = 1;
};

/// How a model with past and present keys and values becomes a decoder, see
/// Decoder.h. Zero: the default.
struct DecoderOptions {
  bool plain = false;    // `--state none`: it does not, all of them stay tensors
  int64_t context = 0;   // the most positions of a sequence
  int64_t sequences = 0; // at once
  int64_t chunk = 0;     // tokens of a step
  int64_t rows = 0;      // tokens of a step whose logits are wanted
  uint64_t kvMemory = 0; // bytes of keys and values
  bool half = false;     // keys and values as f16
};

struct ImportOptions {
  /// `--dim NAME=N` or `NAME=LO..HI[:STEP]`. NAME is a dim_param, or `<input>_<axis>`
  /// for a dynamic dimension that has none.
  llvm::StringMap<DimBounds> dims;
  /// Bounds for dynamic dimensions not listed (for `stint explain`); without
  /// it they are an error.
  std::optional<DimBounds> otherDims;
  /// `--state IN=OUT`: an input and the output that is its next value. Both
  /// become memory of the session.
  std::vector<std::pair<std::string, std::string>> states;
  /// `--bound VALUE.AXIS=N`: the most that a dimension which is known only
  /// while the model runs may be, by "VALUE.AXIS".
  llvm::StringMap<int64_t> bounds;
  /// Inputs that always have one value: name to a TensorProto file. They
  /// become constants (shapes and axes given as inputs, in ONNX's own tests).
  llvm::StringMap<std::string> constants;
  DecoderOptions decoder;
};

/// What a model with a past became.
struct Decoder {
  std::string tokenIds, logits; // an input and an output
  int64_t layers = 0;
  int64_t tokens = 0, sequences = 0;                // of a step, at most
  int64_t pageSize = 0, pageCount = 0, context = 0; // a page in positions
  int64_t pageBytes = 0;                            // of all layers together
};

/// A dynamic dimension of the inputs.
struct DynamicDim {
  std::string name;
  std::string where; // "input 'x' axis 0", all places
  std::optional<DimBounds> bounds;
};

/// How often the model uses an operator (nodes that outputs depend on).
struct OperatorUse {
  std::string domain, opType;
  int64_t version = 0;
  int64_t count = 0, unsupported = 0;
};

struct ImportedModel {
  /// `graph.symbols`, `graph.files`, and `func.func @main`. Null on error.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The bytes of `<inline>`, the last entry of `graph.files`.
  std::unique_ptr<InlineData> inlineData;
  std::vector<DynamicDim> dynamicDims; // also after an error
  std::vector<OperatorUse> operators;  // also after an error
  std::optional<Decoder> decoder;
  /// Why a model with a past is none: which node is in the way.
  std::string decoderBlocker;
};

/// Reads and imports a file. On a problem `module` is null and `diagnostics`
/// says why. Loads the dialects it needs into `context`.
ImportedModel importFile(llvm::StringRef path, const ImportOptions &options, mlir::MLIRContext &context,
                         Diagnostics &diagnostics);

/// Imports a model that was read, a decoder as one. Takes over its side buffer.
ImportedModel importModel(Model &model, const ImportOptions &options, mlir::MLIRContext &context,
                          Diagnostics &diagnostics);

/// The same; a past stays a tensor.
ImportedModel importAsItIs(Model &model, const ImportOptions &options, mlir::MLIRContext &context,
                           Diagnostics &diagnostics);

} // namespace stint::import

#endif
