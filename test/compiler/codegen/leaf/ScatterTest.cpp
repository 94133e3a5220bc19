// Scatter kernels: every width and reduction, duplicates, indices out of
// range, nothing to do, in place.
#include "test/compiler/codegen/leaf/LeafTest.h"

#include <gtest/gtest.h>

using namespace stint::test;

namespace {

const char *const kWidths[] = {"f32", "f64", "f16", "i1", "i8", "ui64"};
const char *const kNumbers[] = {"f32", "f64", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};

struct Shapes {
  const char *data, *indices;
  int64_t axis;
  std::vector<int64_t> symbols;
};

const Shapes kElementwise[] = {
    {"s0", "s1", 0, {7, 20, 0}},
    {"s0", "s1", 0, {5, 0, 0}},
    {"s0, 5", "s1, 4", 0, {6, 9, 0}},
    {"5, s0", "4, s1", 1, {6, 9, 0}},
    {"3, s0, 4", "2, s1, 4", 1, {5, 7, 0}},
    {"3, 4, s0", "3, 2, s1", 2, {5, 7, 0}},
    {"3, 4, s0", "3, 2, s1", 0, {5, 4, 0}},
    {"2, 3, 2, s0", "2, 2, s1, 3", 2, {5, 4, 0}},
    {"s0, 3", "s1, 2", 0, {0, 4, 0}},
    {"2, s0", "0, s1", 1, {3, 4, 0}},
};

std::string params(std::vector<int64_t> values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "params [" : ", ") + std::to_string(value);
  return text.empty() ? "" : text + "]";
}

TEST(Leaf, ScatterElements) {
  Suite suite(lowerLeaf);
  for (const char *element : kWidths)
    for (const Shapes &shapes : kElementwise) {
      if (element != kWidths[0] && shapes.axis == 2)
        continue;
      TypeText data = {shapes.data, element}, indices = {shapes.indices, "i64"};
      std::string rest = params({shapes.axis}) + (shapes.axis ? " leading " + std::to_string(shapes.axis) : "");
      suite.add("scatter_elements " + std::string(element) + " of " + shapes.indices,
                leafText("scatter_elements", {data, indices, {shapes.indices, element}}, {data}, rest, true),
                shapes.symbols, {Fill{-50, 50}, Fill{-9, 9}, Fill{-50, 50}});
    }
  check(suite);
}

TEST(Leaf, ScatterElementsReduce) {
  Suite suite(lowerLeaf);
  for (const char *element : kNumbers)
    for (int64_t reduction = 0; reduction < 4; ++reduction)
      for (const Shapes &shapes : {kElementwise[0], kElementwise[4]}) {
        TypeText data = {shapes.data, element}, indices = {shapes.indices, "i64"};
        std::string rest = params({shapes.axis, reduction}) + (shapes.axis ? " leading 1" : "");
        std::vector<double> specials;
        if (element[0] == 'f' && reduction >= 2)
          specials = {NAN, -INFINITY, INFINITY};
        suite.add("scatter_elements_reduce " + std::string(element) + " by " + std::to_string(reduction),
                  leafText("scatter_elements_reduce", {data, indices, {shapes.indices, element}}, {data}, rest,
                           reduction % 2),
                  shapes.symbols, {Fill{-3, 3, specials}, Fill{-6, 6}, Fill{-3, 3, specials}});
      }
  check(suite);
}

TEST(Leaf, ScatterND) {
  Suite suite(lowerLeaf);
  struct Case {
    const char *data, *indices, *updates;
    std::vector<int64_t> symbols;
  };
  const Case cases[] = {
      {"s0", "s1, 1", "s1", {7, 30, 0}},
      {"s0, 3", "s1, 1", "s1, 3", {7, 5, 0}},
      {"s0, 3, 40", "2, s1, 2", "2, s1, 40", {4, 5, 0}},
      {"s0, 3, 4", "s1, 3", "s1", {4, 17, 0}},
      {"s0, 3", "s1, 0", "s1, s0, 3", {4, 2, 0}},
      {"s0, 3", "s1, 1", "s1, 3", {0, 2, 0}},
      {"s0, 3", "s1, 1", "s1, 3", {5, 0, 0}},
  };
  for (const char *element : kWidths)
    for (const Case &test : cases)
      suite.add("scatter_nd " + std::string(element) + " of " + test.indices,
                leafText("scatter_nd", {{test.data, element}, {test.indices, "i64"}, {test.updates, element}},
                         {{test.data, element}}, "", true),
                test.symbols, {Fill{-50, 50}, Fill{-5, 5}, Fill{-50, 50}});
  for (const char *element : kNumbers)
    for (int64_t reduction = 0; reduction < 4; ++reduction)
      suite.add("scatter_nd_reduce " + std::string(element) + " by " + std::to_string(reduction),
                leafText("scatter_nd_reduce", {{"s0, 3", element}, {"s1, 1", "i64"}, {"s1, 3", element}},
                         {{"s0, 3", element}}, params({reduction})),
                {7, 9, 0}, {Fill{-3, 3}, Fill{-8, 8}, Fill{-3, 3}});
  check(suite);
}

} // namespace
