// `--report`: one HTML page that shows what was made of a model.
#ifndef STINT_COMPILER_DRIVER_HTMLREPORT_H
#define STINT_COMPILER_DRIVER_HTMLREPORT_H

#include "compiler/driver/Compiler.h"
#include "llvm/Support/Error.h"

namespace stint::driver {

/// Writes the page at `path` for the plan file that a compilation with these
/// options has just written: memory, dispatches in order with the ONNX nodes
/// in each and the place of every result, kernels with their code's size for
/// every variant, weights, times. Needs nothing else: no script, no network.
llvm::Error writeHtmlReport(llvm::StringRef path, const Options &options, Result &result);

} // namespace stint::driver

#endif
