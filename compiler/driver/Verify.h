// `stint verify`: compiles a model, runs it on given inputs and compares with
// given outputs, in folders as ONNX's backend tests have them.
#ifndef STINT_COMPILER_DRIVER_VERIFY_H
#define STINT_COMPILER_DRIVER_VERIFY_H

#include "compiler/driver/Compiler.h"

namespace stint::driver {

struct VerifyOptions {
  Options compile;                         // `output` and `emit` are not used; `targets` must be this machine's
  std::string data;                        // folder with test_data_set_*; empty: the model's folder
  std::string variant;                     // empty: the best for this machine
  double relative = 1e-3, absolute = 1e-5; // |got - wanted| <= absolute + relative * |wanted|
  unsigned threads = 1;
};

/// Returns the exit code: 1 if an output differs.
int verify(const VerifyOptions &options, llvm::raw_ostream &os, import::Diagnostics &diagnostics);

} // namespace stint::driver

#endif
