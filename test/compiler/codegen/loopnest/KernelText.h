// Writes outlined kernels as text, one operator at a time.
#ifndef STINT_TEST_COMPILER_CODEGEN_LOOPNEST_KERNELTEXT_H
#define STINT_TEST_COMPILER_CODEGEN_LOOPNEST_KERNELTEXT_H

#include "test/compiler/codegen/harness/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace stint::test {

/// `!graph.tensor<[DIMS] x ELEMENT, LAYOUT>`; the layout as in
/// "[0, 2, 1], tile = 1 : 16", or none.
std::string type(const std::string &dims, Element element, const std::string &layout = "");
/// "[1, 2, 3]" without the brackets.
std::string list(const std::vector<int64_t> &values);

class KernelText {
public:
  using Ref = std::string;
  Ref operand(const std::string &type, const std::string &attributes = "");
  /// `%n = NAME operands {ATTRIBUTES} : (types) -> TYPE`; the name may end in
  /// a keyword ("graph.reduce sum").
  Ref op(const std::string &name, const std::vector<Ref> &operands, const std::string &type,
         const std::string &attributes = "");
  /// The same for two results: the second is called REF#1.
  Ref op2(const std::string &name, const std::vector<Ref> &operands, const std::string &first,
          const std::string &second, const std::string &attributes);
  /// A splat constant.
  Ref splat(const std::string &value, const std::string &type);
  /// `%n = NAME {ATTRIBUTES} : TYPE`, for graph.iota and graph.dimensions.
  Ref source(const std::string &name, const std::string &attributes, const std::string &type);
  /// Declares the next symbol.
  void symbol(int64_t lower, int64_t upper);
  std::string text(const std::vector<Ref> &results, const std::string &kind = "loopnest") const;

private:
  std::map<Ref, std::string> types;
  std::string arguments, body, symbols;
  int count = 0;
};

inline constexpr Element kFloats[] = {Element::f32, Element::f64, Element::f16, Element::bf16};
inline constexpr Element kIntegers[] = {Element::i8, Element::i16, Element::i32, Element::i64,
                                        Element::u8, Element::u16, Element::u32, Element::u64};
inline constexpr Element kAllElements[] = {Element::boolean, Element::i8,  Element::i16, Element::i32, Element::i64,
                                           Element::u8,      Element::u16, Element::u32, Element::u64, Element::f16,
                                           Element::bf16,    Element::f32, Element::f64};

} // namespace stint::test

#endif
