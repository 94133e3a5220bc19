// Recipes against the plain meaning of their steps: every element of the
// result, at the address its layout gives it, is the source element that the
// steps lead back to; what is left over is zero.
#include "compiler/weights/Recipe.h"
#include "compiler/weights/Convert.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace mlir;
using namespace stint;

namespace {

struct RecipeTest : testing::Test {
  RecipeTest() : context(MLIRContext::Threading::DISABLED), builder(&context) {
    context.loadDialect<graph::GraphDialect>();
  }

  graph::GraphTensorType tensor(ArrayRef<int64_t> shape, Type element, graph::LayoutAttr layout = {}) {
    SmallVector<AffineExpr> dims;
    for (int64_t dim : shape)
      dims.push_back(getAffineConstantExpr(dim, &context));
    return graph::GraphTensorType::get(dims, element, layout);
  }

  std::vector<uint8_t> evaluate(ArrayRef<uint8_t> source, Type from, ArrayRef<int64_t> shape, ArrayRef<Attribute> steps,
                                graph::GraphTensorType type) {
    auto extent = graph::ExtentAttr::get(&context, 0, 0, source.size(), from, shape);
    auto recipe = weights::Recipe::create(source, extent, builder.getArrayAttr(steps), type);
    if (!recipe) {
      ADD_FAILURE() << llvm::toString(recipe.takeError());
      return {};
    }
    std::vector<uint8_t> result;
    recipe->evaluate([&](ArrayRef<uint8_t> bytes) {
      EXPECT_LE(bytes.size(), size_t(weights::Recipe::kTileBytes));
      result.insert(result.end(), bytes.begin(), bytes.end());
    });
    EXPECT_EQ(result.size(), recipe->size());
    return result;
  }

  MLIRContext context;
  Builder builder;
};

int64_t count(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
}

/// Applies steps to a tensor of positions, one full copy a step.
std::vector<int32_t> transposed(const std::vector<int32_t> &data, SmallVector<int64_t> &shape,
                                ArrayRef<int64_t> order) {
  SmallVector<int64_t> strides(shape.size(), 1), next;
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  for (int64_t from : order)
    next.push_back(shape[from]);
  std::vector<int32_t> result(data.size());
  for (size_t p = 0; p < data.size(); ++p) {
    int64_t rest = p, at = 0;
    for (size_t i = next.size(); i-- > 0;) {
      at += rest % next[i] * strides[order[i]];
      rest /= next[i];
    }
    result[p] = data[at];
  }
  shape = next;
  return result;
}

/// The bytes a layout asks for, element by element.
std::vector<int32_t> arranged(const std::vector<int32_t> &data, graph::GraphTensorType type) {
  SmallVector<int64_t> shape = type.getStaticShape();
  auto layout = type.getLayout();
  int64_t tiled = layout && layout.isTiled() ? layout.getTiledDim() : -1;
  int64_t tile = tiled >= 0 ? layout.getTileSize() : 1;
  std::vector<std::pair<int64_t, int64_t>> memory; // dimension, extent
  int64_t total = tile;
  for (int64_t dim : type.getOrder()) {
    memory.push_back({dim, dim == tiled ? (shape[dim] + tile - 1) / tile : shape[dim]});
    total *= memory.back().second;
  }
  std::vector<int32_t> result(total, 0);
  for (size_t p = 0; p < data.size(); ++p) {
    SmallVector<int64_t> index(shape.size());
    int64_t rest = p, at = 0;
    for (size_t i = shape.size(); i-- > 0;) {
      index[i] = rest % shape[i];
      rest /= shape[i];
    }
    for (auto [dim, extent] : memory)
      at = at * extent + (dim == tiled ? index[dim] / tile : index[dim]);
    if (tiled >= 0)
      at = at * tile + index[tiled] % tile;
    result[at] = data[p];
  }
  return result;
}

TEST_F(RecipeTest, RandomStepsAndLayouts) {
  std::mt19937 random(1);
  auto draw = [&](int64_t low, int64_t high) { return low + int64_t(random() % (high - low + 1)); };
  for (int trial = 0; trial < 3000; ++trial) {
    SmallVector<int64_t> shape;
    for (int64_t rank = draw(0, 4); rank > 0; --rank)
      shape.push_back(draw(0, 20) == 0 ? 0 : draw(1, 9));
    std::vector<int32_t> data(count(shape));
    std::iota(data.begin(), data.end(), 1);
    std::vector<uint8_t> source(data.size() * 4);
    if (!data.empty())
      std::memcpy(source.data(), data.data(), source.size());
    SmallVector<int64_t> first = shape;
    SmallVector<Attribute> steps;
    for (int64_t step = draw(0, 4); step > 0; --step) {
      if (draw(0, 1)) {
        SmallVector<int64_t> order(shape.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        steps.push_back(graph::StepAttr::get(&context, "transpose", order));
        data = transposed(data, shape, order);
      } else {
        // Merge two neighbours, split one, or add a 1.
        SmallVector<int64_t> next = shape;
        if (next.size() >= 2 && draw(0, 1)) {
          size_t at = draw(0, next.size() - 2);
          next[at] *= next[at + 1];
          next.erase(next.begin() + at + 1);
        } else if (!next.empty() && next.size() < 6) {
          size_t at = draw(0, next.size() - 1);
          int64_t part = draw(1, 4);
          if (next[at] % part == 0) {
            next.insert(next.begin() + at, part);
            next[at + 1] /= part;
          }
        } else if (next.size() < 6) {
          next.push_back(1);
        }
        steps.push_back(graph::StepAttr::get(&context, "reshape", next));
        shape = next;
      }
    }
    graph::LayoutAttr layout;
    if (!shape.empty() && draw(0, 2)) {
      SmallVector<int64_t> order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      layout = draw(0, 1) ? graph::LayoutAttr::get(&context, order, draw(0, shape.size() - 1), draw(2, 16))
                          : graph::LayoutAttr::get(&context, order, int64_t(-1), int64_t(0));
    }
    auto type = tensor(shape, builder.getI32Type()).withLayout(layout);
    std::vector<uint8_t> bytes = evaluate(source, builder.getI32Type(), first, steps, type);
    std::vector<int32_t> wanted = arranged(data, type), got(bytes.size() / 4);
    if (!bytes.empty())
      std::memcpy(got.data(), bytes.data(), bytes.size());
    ASSERT_EQ(got, wanted) << "trial " << trial;
  }
}

TEST_F(RecipeTest, LargerThanATile) {
  int64_t n = 700, k = 1300; // 3.6 MB
  std::vector<int32_t> data(n * k);
  std::iota(data.begin(), data.end(), 0);
  std::vector<uint8_t> source(data.size() * 4);
  std::memcpy(source.data(), data.data(), source.size());
  auto layout = graph::LayoutAttr::get(&context, {1, 0}, 1, 16);
  auto type = tensor({k, n}, builder.getI32Type(), layout);
  SmallVector<int64_t> shape = {n, k};
  std::vector<int32_t> wanted = arranged(transposed(data, shape, {1, 0}), type);
  std::vector<uint8_t> bytes =
      evaluate(source, builder.getI32Type(), {n, k}, {graph::StepAttr::get(&context, "transpose", {1, 0})}, type);
  ASSERT_EQ(bytes.size(), wanted.size() * 4);
  EXPECT_EQ(std::memcmp(bytes.data(), wanted.data(), bytes.size()), 0);
}

TEST_F(RecipeTest, BrokenRecipesAreErrors) {
  std::vector<uint8_t> source(24);
  Type f32 = builder.getF32Type();
  auto broken = [&](ArrayRef<int64_t> shape, ArrayRef<Attribute> steps, graph::GraphTensorType type) {
    auto extent = graph::ExtentAttr::get(&context, 0, 0, source.size(), f32, shape);
    auto recipe = weights::Recipe::create(source, extent, builder.getArrayAttr(steps), type);
    bool isError = !recipe;
    llvm::consumeError(recipe.takeError());
    return isError;
  };
  EXPECT_FALSE(broken({2, 3}, {}, tensor({2, 3}, f32)));
  EXPECT_TRUE(broken({2, 4}, {}, tensor({2, 4}, f32)));
  EXPECT_TRUE(broken({2, 3}, {}, tensor({3, 2}, f32)));
  EXPECT_TRUE(broken({2, 3}, {}, tensor({2, 3}, builder.getI32Type())));
  EXPECT_TRUE(broken({2, 3}, {graph::StepAttr::get(&context, "transpose", {0, 2})}, tensor({2, 3}, f32)));
  EXPECT_TRUE(broken({2, 3}, {graph::StepAttr::get(&context, "reshape", {7})}, tensor({7}, f32)));
  EXPECT_TRUE(broken({2, 3}, {graph::StepAttr::get(&context, "rotate", {1})}, tensor({2, 3}, f32)));
}

template <typename To, typename From> To converted(Type from, From value, Type to) {
  To result;
  weights::convert(from, reinterpret_cast<const uint8_t *>(&value), to, reinterpret_cast<uint8_t *>(&result), 1);
  return result;
}

TEST_F(RecipeTest, Casts) {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type(), bf16 = builder.getBF16Type();
  Type i8 = builder.getI8Type(), i64 = builder.getI64Type(), i1 = builder.getI1Type(), f64 = builder.getF64Type();
  Type u8 = builder.getIntegerType(8, false), u64 = builder.getIntegerType(64, false);
  EXPECT_EQ(converted<int8_t>(f32, -3.99f, i8), -3);
  EXPECT_EQ(converted<int8_t>(f32, 1e9f, i8), 127);
  EXPECT_EQ(converted<uint8_t>(f32, -1.5f, u8), 0);
  EXPECT_EQ(converted<int64_t>(f32, NAN, i64), 0);
  EXPECT_EQ(converted<int64_t>(f64, 9.3e18, i64), INT64_MAX);
  EXPECT_EQ(converted<uint64_t>(f64, 1.8446744073709552e19, u64), UINT64_MAX);
  EXPECT_EQ(converted<int8_t>(i64, int64_t(300), i8), 44); // integers wrap
  EXPECT_EQ(converted<uint8_t>(f32, 0.25f, i1), 1);
  EXPECT_EQ(converted<uint8_t>(f32, -0.0f, i1), 0);
  EXPECT_EQ(converted<uint8_t>(f32, NAN, i1), 1);
  // Ties go to even: 1 + 2^-11 is half way between two halves.
  EXPECT_EQ(converted<uint16_t>(f32, 1.00048828125f, f16), 0x3c00);
  EXPECT_EQ(converted<uint16_t>(f32, 1.00146484375f, f16), 0x3c02);
  EXPECT_EQ(converted<uint16_t>(f32, 65520.0f, f16), 0x7c00);
  EXPECT_EQ(converted<uint16_t>(f32, 1.0f, bf16), 0x3f80);
  EXPECT_EQ(converted<float>(f16, uint16_t(0x0001), f32), std::ldexp(1.0f, -24));
  // Straight to float: by way of double this would round twice.
  EXPECT_EQ(converted<float>(i64, int64_t((1ll << 54) + (1ll << 30) + 1), f32),
            std::ldexp(1.0f, 54) + std::ldexp(1.0f, 31));
}

} // namespace
