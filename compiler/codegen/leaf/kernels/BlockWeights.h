// Weights of 4 or 8 bits in blocks along the contracted dimension, as they lie
// in memory, for the kernels that read them.
//
// A table has a row for each column of the matrix [K, N]: the column's numbers
// in order, packed into 32-bit words, low bits first. Rows lie in panels of 16:
//
//   words   [N/16][K'/per word][16] u32    K' = blocks · block size ≥ K
//   scales  [N/16][blocks][16]      f32 or f16
//   zeros   nothing: 2^(bits - 1)
//           [N/16][bytes][16]       u8     packed like the numbers
//           [N/16][blocks][16]      f32
//
// A weight is (number - zero) · scale. Operands: words, scales, zeros if there
// are any. Params: bits, block size (a multiple of 16, at most 256), what zeros
// are (0 nothing, 1 packed, 2 floats), and whether scales are f16.
#ifndef STINT_COMPILER_CODEGEN_LEAF_KERNELS_BLOCKWEIGHTS_H
#define STINT_COMPILER_CODEGEN_LEAF_KERNELS_BLOCKWEIGHTS_H

#include "compiler/codegen/leaf/kernels/Vector.h"

namespace stint::leaf {

/// One element for each row of a panel.
constexpr int kPanel = 16;
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint8_t Bytes __attribute__((vector_size(16)));
/// What is summed in one order on every machine.
typedef float Eight __attribute__((vector_size(32)));
constexpr int64_t kMaxBlock = 256;

template <typename V, typename T> inline V load(const T *from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <typename V, typename T> inline void store(T *to, V v) { __builtin_memcpy(to, &v, sizeof v); }

enum class Zeros : int64_t { none, packed, floats };

/// The tables of a call, from operand 1 on.
struct BlockWeights {
  const uint32_t *words;
  const void *scales, *zeros;
  bool halfScales;
  Zeros zeroKind;
  int64_t bits, block;
  int64_t rows, blocks;               // N and K blocks
  int64_t panelWords, panelZeroBytes; // from a panel to the next
  int64_t blockWords;

  explicit BlockWeights(const Call &call)
      : words(call.data<const uint32_t>(1)), scales(call.data<const void>(2)), halfScales(call.params[3] != 0),
        zeroKind(Zeros(call.params[2])), bits(call.params[0]), block(call.params[1]), rows(call.dim(1, 0)),
        blocks(call.dim(2, 1)), panelWords(call.dim(1, 1) * kPanel), blockWords(block * bits / 32) {
    zeros = zeroKind == Zeros::none ? nullptr : call.data<const void>(3);
    panelZeroBytes = zeroKind == Zeros::packed ? call.dim(3, 1) * kPanel : blocks * kPanel * int64_t(sizeof(float));
  }

  const uint32_t *wordsOf(int64_t panel, int64_t b) const {
    return words + panel * panelWords + b * blockWords * kPanel;
  }
  Floats scale(int64_t panel, int64_t b) const {
    int64_t at = (panel * blocks + b) * kPanel;
    return halfScales ? load(static_cast<const uint16_t *>(scales) + at)
                      : load(static_cast<const float *>(scales) + at);
  }
  Floats zero(int64_t panel, int64_t b) const {
    const char *base = static_cast<const char *>(zeros) + panel * panelZeroBytes;
    switch (zeroKind) {
    case Zeros::none:
      return splat(float(1 << (bits - 1)));
    case Zeros::floats:
      return load<Floats>(base + b * int64_t(sizeof(Floats)));
    case Zeros::packed:
      break;
    }
    int64_t perByte = 8 / bits;
    Words v = __builtin_convertvector(load<Bytes>(base + b / perByte * kPanel), Words);
    return __builtin_convertvector(Ints(v >> uint32_t(b % perByte * bits) & uint32_t((1 << bits) - 1)), Floats);
  }
};

/// The columns of a panel into a row of the result, but for those past its end.
inline void storeColumns(float *row, int64_t panel, int64_t columns, Floats values) {
  int64_t first = panel * kPanel, count = min<int64_t>(kPanel, columns - first);
  if (count == kPanel)
    return store(row + first, values);
  for (int64_t c = 0; c < count; ++c)
    row[first + c] = values[c];
}

} // namespace stint::leaf

#endif
