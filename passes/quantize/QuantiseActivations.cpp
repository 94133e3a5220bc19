// Activations that weights of 4 and 8 bits are multiplied with become integers
// of 8 bits, a scale for each row and block of the weights: block_matmul is
// quantise_rows, then block_matmul_int8. Products that read one value share its
// numbers once common subexpressions are merged.
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

namespace stint::passes {
#define GEN_PASS_DEF_QUANTISEACTIVATIONS
#include "passes/Passes.h.inc"
} // namespace stint::passes

using namespace mlir;
using namespace stint;
using namespace stint::graph;

/// Bytes before a block's numbers, see compiler/codegen/leaf/kernels/QuantisedRows.h.
static constexpr int64_t kHeader = 16;

static GraphTensorType tensorType(Value value) { return cast<GraphTensorType>(value.getType()); }

namespace {
struct QuantiseActivations : passes::impl::QuantiseActivationsBase<QuantiseActivations> {
  void runOnOperation() override {
    SmallVector<LeafOp> products;
    getOperation().walk([&](LeafOp leaf) {
      if (leaf.getName() == "block_matmul")
        products.push_back(leaf);
    });
    for (LeafOp product : products)
      rewrite(product);
  }

  static void rewrite(LeafOp product) {
    OpBuilder builder(product);
    SmallVector<Value> inputs(product.getInputs());
    int64_t bits = product.getParams()[0], block = product.getParams()[1];
    GraphTensorType x = tensorType(inputs[0]);
    SmallVector<AffineExpr> shape(x.getShape());
    shape.back() = tensorType(inputs[2]).getDim(1) * (kHeader + block);
    Type pieces = GraphTensorType::get(shape, builder.getI8Type());
    inputs[0] = builder
                    .create<LeafOp>(product.getLoc(), pieces, "quantise_rows", inputs[0],
                                    ArrayRef<int64_t>{block, bits}, ArrayRef<float>(), product.getLeading())
                    .getOutputs()[0];
    auto whole = builder.create<LeafOp>(product.getLoc(), product->getResultTypes(), "block_matmul_int8", inputs,
                                        product.getParams(), product.getFparams(), product.getLeading());
    product->replaceAllUsesWith(whole);
    product.erase();
  }
};
} // namespace
