// What a user can ask of a compilation, and how the words for it are read.
#ifndef STINT_COMPILER_DRIVER_OPTIONS_H
#define STINT_COMPILER_DRIVER_OPTIONS_H

#include "compiler/import/Importer.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stint::driver {

/// What to write instead of a plan file: the program after some stage.
enum class Emit {
  File,          // a .stint file
  Graph,         // after import and simplification
  Schedule,      // kernels outlined, calls in order
  Plan,          // the register machine with its memory laid out
  Kernel,        // per variant: kernels as loops and vectors
  Llvm,          // per variant: optimised LLVM IR
  Assembly,      // per variant
  Object,        // an ELF object per variant
  StaticLibrary, // an archive of the kernels, and a header
  Nothing,       // for Options.onPlan
};
/// The word for `--emit`, or nullopt.
std::optional<Emit> parseEmit(llvm::StringRef word);

/// `--profile NAME=N[,NAME=N]`: joint maxima; dimensions that are not named
/// stay at their upper bounds.
using ProfileRequest = std::vector<std::pair<std::string, int64_t>>;

struct Options {
  std::string input;                           // an ONNX file
  std::string output;                          // empty: text goes to standard output
  std::string targets = "host", cpu, features; // see target::resolve
  llvm::StringMap<import::DimBounds> dims;
  /// Inputs, and the outputs that are their next values.
  std::vector<std::pair<std::string, std::string>> states;
  /// Memory layouts beside the one at the upper bounds.
  std::vector<ProfileRequest> profiles;
  /// By "VALUE.AXIS": the most that a data-dependent dimension may be.
  llvm::StringMap<int64_t> bounds;
  /// Inputs that always have one value, and the TensorProto file with it.
  llvm::StringMap<std::string> constants;
  import::DecoderOptions decoder;
  /// Files of the tokenizer and the chat template; empty: what lies beside them
  /// is looked for, see TextStage.h.
  std::string tokenizer, chatTemplate;
  std::optional<uint64_t> maxRam; // bytes a device may commit
  uint64_t seed = 0;              // of searches by chance
  Emit emit = Emit::File;
  /// Bounds of dynamic dimensions that `dims` doesn't have.
  std::optional<import::DimBounds> otherDims;
  /// Sees the plan with its memory.
  std::function<void(mlir::ModuleOp)> onPlan;
  /// Activations beside weights of 4 and 8 bits become integers of 8 bits.
  bool int8Activations = false;
};

/// Adds `NAME=N`, `NAME=LO..HI` or `NAME=LO..HI:STEP`. Errors say what is wrong with the text.
llvm::Error parseDim(llvm::StringRef text, llvm::StringMap<import::DimBounds> &dims);

/// Adds `VALUE.AXIS=N`. Errors say what is wrong with the text.
llvm::Error parseBound(llvm::StringRef text, llvm::StringMap<int64_t> &bounds);

/// Adds `IN=OUT`. Errors say what is wrong with the text.
llvm::Error parseState(llvm::StringRef text, std::vector<std::pair<std::string, std::string>> &states);

/// Reads `NAME=N[,NAME=N]`. Errors say what is wrong with the text.
llvm::Expected<ProfileRequest> parseProfile(llvm::StringRef text);

/// Adds `NAME=FILE`. Errors say what is wrong with the text.
llvm::Error parseConstant(llvm::StringRef text, llvm::StringMap<std::string> &constants);

/// A size in bytes: digits, with K, M or G (powers of 1024) after them if
/// wanted.
llvm::Expected<uint64_t> parseBytes(llvm::StringRef text);

/// The ONNX file that the path names: itself, or in a folder `model.onnx` or
/// the only `.onnx` there.
llvm::Expected<std::string> findModel(llvm::StringRef path);

} // namespace stint::driver

#endif
