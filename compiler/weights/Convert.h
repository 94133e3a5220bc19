// Conversion of elements between types, as ONNX's Cast does it.
#ifndef STINT_COMPILER_WEIGHTS_CONVERT_H
#define STINT_COMPILER_WEIGHTS_CONVERT_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace stint::weights {

/// True if `convert` knows the element type: f16, bf16, f32, f64, integers of
/// 8 to 64 bits (signless ones are signed), and i1 (one byte).
bool isConvertible(mlir::Type type);

/// Converts `count` elements; both sides are dense. Floats round to nearest
/// even, become integers by truncation towards zero (saturating, NaN is 0),
/// and booleans by comparison with zero; integers wrap.
void convert(mlir::Type from, const uint8_t *source, mlir::Type to, uint8_t *target, int64_t count);

} // namespace stint::weights

#endif
