// Makes random loop nests: operators of all families, one after the other, on
// whole numbers, for which most of them are exact.
#ifndef STINT_TEST_COMPILER_CODEGEN_LOOPNEST_FUZZER_H
#define STINT_TEST_COMPILER_CODEGEN_LOOPNEST_FUZZER_H

#include "test/compiler/codegen/harness/Harness.h"
#include "test/compiler/codegen/loopnest/KernelText.h"

#include <random>

namespace stint::test {

class Fuzzer {
public:
  explicit Fuzzer(uint64_t seed);
  /// Adds the kernel, at a few sizes.
  void addTo(Suite &suite, const std::string &name);

private:
  /// A dimension as text over the symbol s0, and its value for s0 = n.
  struct Dim {
    std::string text;
    int64_t value;
    bool isFixed() const { return text == std::to_string(value); }
  };
  using Dims = std::vector<Dim>;
  struct TypedValue {
    KernelText::Ref ref;
    Dims dims;
    Element element;
  };

  static Dim number(int64_t value) { return {std::to_string(value), value}; }
  static std::string text(const Dims &dims);
  static int64_t sizeOf(const Dims &dims);
  static bool same(const Dims &a, const Dims &b) { return text(a) == text(b); }

  uint64_t below(uint64_t limit) { return random() % limit; }
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(below(high - low + 1)); }
  template <typename T> T pick(std::initializer_list<T> choices) { return *(choices.begin() + below(choices.size())); }

  Dims randomDims();
  std::string randomLayout(const Dims &dims);
  TypedValue operand(const Dims &dims, Element element);
  TypedValue emit(const std::string &op, const std::vector<TypedValue> &operands, const Dims &dims, Element element,
                  const std::string &attributes = "");
  TypedValue indices(const Dims &dims, int64_t size);
  TypedValue relayout(const TypedValue &x);
  TypedValue partner(const TypedValue &x);

  // Each returns a new value made of `x`, or `x` where that can't be.
  TypedValue step(const TypedValue &x);
  TypedValue binary(const TypedValue &x);
  TypedValue unary(const TypedValue &x);
  TypedValue choose(const TypedValue &x);
  TypedValue transpose(const TypedValue &x);
  TypedValue slice(const TypedValue &x);
  TypedValue pad(const TypedValue &x);
  TypedValue concat(const TypedValue &x);
  TypedValue gather(const TypedValue &x);
  TypedValue gatherElements(const TypedValue &x);
  TypedValue gatherND(const TypedValue &x);
  TypedValue reshape(const TypedValue &x);
  TypedValue broadcast(const TypedValue &x);
  TypedValue reduce(const TypedValue &x);
  TypedValue window(const TypedValue &x);
  TypedValue depthwise(const TypedValue &x);
  TypedValue matmul(const TypedValue &x);

  std::mt19937_64 random;
  int64_t n = 1;
  KernelText k;
  std::vector<TypedValue> all;
  std::string resultLayout;   // of everything emitted from now on
  bool needsElements = false; // n = 0 has no meaning
  bool layoutsInside;
  std::vector<Fill> fills;
  std::vector<std::pair<size_t, int64_t>> indexOperands; // number, size of what it indexes
};

} // namespace stint::test

#endif
