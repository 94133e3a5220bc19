// Blocked DequantizeLinear in front of a product: rewritten, before import, to
// the tables that MatMulNBits has, so that the weights stay packed.
#ifndef STINT_COMPILER_IMPORT_BLOCKEDWEIGHTS_H
#define STINT_COMPILER_IMPORT_BLOCKEDWEIGHTS_H

#include "compiler/import/Model.h"

namespace stint::import {

/// For each MatMul and Gemm of the main graph whose weights a DequantizeLinear
/// with blocks along the contracted dimension makes of constants (perhaps a
/// Transpose lies between): gives the node `Node::blocks`. What nothing reads
/// any more is dropped. Constants of 4 bits that other
/// DequantizeLinear nodes read become 8 bits wide.
void packBlockedWeights(Model &model);

} // namespace stint::import

#endif
