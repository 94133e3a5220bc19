// Reading window attributes.
#include "compiler/import/Windows.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

FailureOr<Window> stint::import::readWindow(NodeContext &n, ArrayRef<int64_t> kernel) {
  constexpr int64_t kLimit = 1 << 24; // keeps all arithmetic far from overflow
  size_t spatial = kernel.size();
  Window w;
  w.kernel.assign(kernel.begin(), kernel.end());
  SmallVector<int64_t> ones(spatial, 1);
  w.strides = n.getInts("strides").value_or(ones);
  w.dilations = n.getInts("dilations").value_or(ones);
  auto pads = n.getInts("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (w.strides.size() != spatial || w.dilations.size() != spatial || pads.size() != 2 * spatial)
    return n.malformed("strides, dilations or pads has the wrong length for " + Twine(spatial) + " spatial dimensions");
  for (size_t i = 0; i < spatial; ++i)
    if (w.kernel[i] < 1 || w.kernel[i] > kLimit || w.strides[i] < 1 || w.strides[i] > kLimit || w.dilations[i] < 1 ||
        w.dilations[i] > kLimit || std::abs(pads[i]) > kLimit || std::abs(pads[spatial + i]) > kLimit)
      return n.malformed("kernel, strides, dilations or pads out of range");
  w.padLow.assign(pads.begin(), pads.begin() + spatial);
  w.padHigh.assign(pads.begin() + spatial, pads.end());
  std::string autoPad = n.getString("auto_pad", "NOTSET");
  if (autoPad == "VALID") {
    w.padLow.assign(spatial, 0);
    w.padHigh.assign(spatial, 0);
  } else if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
    // As many outputs as ceil(input / stride).
    for (size_t i = 0; i < spatial; ++i) {
      int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1, total;
      AffineExpr d = n.type(0).getDim(i + 2);
      if (w.strides[i] == 1) {
        total = reach - 1;
      } else if (auto size = n.type(0).getStaticDim(i + 2)) {
        total = std::max<int64_t>(((*size + w.strides[i] - 1) / w.strides[i] - 1) * w.strides[i] + reach - *size, 0);
      } else if (n.symbols.simplify(d % w.strides[i]) == 0) {
        total = std::max<int64_t>(reach - w.strides[i], 0);
      } else if (reach == 1) {
        total = 0;
      } else if (reach >= w.strides[i]) {
        AffineExpr pads = n.simplify((d.ceilDiv(w.strides[i]) - 1) * w.strides[i] + reach - d);
        AffineExpr less = n.simplify(pads.floorDiv(2)), more = n.simplify(pads - less);
        w.ownLow.resize(spatial, n.dim(0));
        w.ownHigh.resize(spatial, n.dim(0));
        w.ownLow[i] = autoPad == "SAME_UPPER" ? less : more;
        w.ownHigh[i] = autoPad == "SAME_UPPER" ? more : less;
        total = 0;
      } else {
        return n.unsupported("auto_pad " + autoPad + " with stride " + Twine(w.strides[i]) +
                             " larger than the kernel on dimension " + n.print(d) + "; fix it with --dim");
      }
      w.padLow[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.padHigh[i] = total - w.padLow[i];
    }
  } else if (autoPad != "NOTSET" && !autoPad.empty()) {
    return n.malformed("unknown auto_pad '" + autoPad + "'");
  }
  return w;
}

Value stint::import::padFirst(NodeContext &n, Value x, const Window &w, Value value) {
  if (w.ownLow.empty())
    return x;
  SmallVector<AffineExpr> low = {n.dim(0), n.dim(0)}, shape(n.typeOf(x).getShape());
  low.append(w.ownLow);
  for (size_t i = 0; i < w.ownLow.size(); ++i)
    shape[i + 2] = n.simplify(shape[i + 2] + w.ownLow[i] + w.ownHigh[i]);
  return n.make<graph::PadOp>(n.typeOf(x).withShape(shape), x, value, graph::PadMode::constant,
                              graph::symbolMap(low, n.context()));
}

LogicalResult stint::import::checkWindow(NodeContext &n, const Window &w, ArrayRef<AffineExpr> dims) {
  for (auto [i, d] : llvm::enumerate(dims)) {
    if (!w.ownLow.empty() && w.ownHigh[i] != 0)
      continue; // fits for every size
    int64_t most = n.symbols.upper(d), reach = w.dilations[i] * (w.kernel[i] - 1) + 1;
    // A dimension of 0 may give one of 0, though no window fits.
    int64_t slack = most > 0 ? 0 : w.strides[i];
    if (most + w.padLow[i] + w.padHigh[i] + slack < reach)
      return n.malformed("a window of " + Twine(reach) + " does not fit into dimension " + n.print(d) + " with pads " +
                         Twine(w.padLow[i]) + " and " + Twine(w.padHigh[i]));
  }
  return success();
}
