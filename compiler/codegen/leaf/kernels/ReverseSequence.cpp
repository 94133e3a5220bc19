// reverse_sequence(x [A, B, …], lengths (i64)) -> y
//   params: which of the first two dimensions is time; the other has a length each
// As ONNX ReverseSequence: of each sequence the first `length` steps are
// reversed. Lengths are clamped to what there is. Units: (A, B).
#include "compiler/codegen/leaf/kernels/Leaf.h"

namespace stint::leaf {

template <typename T> static void reverseSequence(const Call &call) {
  int64_t columns = call.dim(0, 1), slice = call.product(0, 2, call.rank(0)), time = call.params[0];
  int64_t steps = call.dim(0, time);
  for (int64_t unit = call.begin; unit < call.end; ++unit) {
    int64_t at[2] = {unit / columns, unit % columns};
    int64_t length = max<int64_t>(min(call.data<const int64_t>(1)[at[1 - time]], steps), 0);
    if (at[time] < length)
      at[time] = length - 1 - at[time];
    copy(call.data<T>(2) + unit * slice, call.data<const T>(0) + (at[0] * columns + at[1]) * slice, slice);
  }
}

} // namespace stint::leaf

using namespace stint::leaf;
STINT_LEAF_FUNCTION(reverse_sequence, b8, reverseSequence<uint8_t>)
STINT_LEAF_FUNCTION(reverse_sequence, b16, reverseSequence<uint16_t>)
STINT_LEAF_FUNCTION(reverse_sequence, b32, reverseSequence<uint32_t>)
STINT_LEAF_FUNCTION(reverse_sequence, b64, reverseSequence<uint64_t>)
