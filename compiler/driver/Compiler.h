// The compiler as a function: a model and options in, a file out.
#ifndef STINT_COMPILER_DRIVER_COMPILER_H
#define STINT_COMPILER_DRIVER_COMPILER_H

#include "compiler/driver/Options.h"
#include "compiler/driver/Report.h"
#include "compiler/import/Diagnostics.h"

namespace stint::driver {

struct Result {
  bool ok = false;
  RamContract ram;
  uint64_t fileBytes = 0, sharedWeights = 0;
  size_t kernels = 0, dispatches = 0;
  bool overRam = false;                                   // it failed for --max-ram alone
  int64_t decoderTokens = 0;                              // the most tokens of a decoder's step; 0: no decoder
  std::vector<std::pair<std::string, uint64_t>> variants; // name, bytes of code
  Stopwatch time;
  std::vector<std::string> notes;    // what was done, for -v and the report
  std::vector<std::string> warnings; // what was asked for and is not so

  void note(std::string text) { notes.push_back(std::move(text)); }
};

/// Compiles one model. Problems go to `diagnostics`; then `ok` is false and
/// nothing was written. Text of `--emit` without an output goes to `text`.
Result compile(const Options &options, import::Diagnostics &diagnostics, llvm::raw_ostream &text);

} // namespace stint::driver

#endif
