// One generator for each kind of kernel.
#include "compiler/codegen/Codegen.h"

#include "compiler/codegen/contraction/Contraction.h"
#include "compiler/codegen/leaf/LeafKernel.h"
#include "compiler/codegen/loopnest/LoopNest.h"
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Plan/PlanDialect.h"

using namespace mlir;
using namespace stint;

llvm::Expected<int64_t> codegen::lowerKernel(func::FuncOp kernel, const target::Variant &variant, ModuleOp into) {
  switch (kernel->getAttrOfType<graph::KernelKindAttr>(plan::kKindAttr).getValue()) {
  case graph::KernelKind::loopnest:
    return lowerLoopNest(kernel, variant, into);
  case graph::KernelKind::contraction:
    return lowerContraction(kernel, variant, into);
  case graph::KernelKind::leaf:
    return lowerLeaf(kernel, variant, into);
  }
  llvm_unreachable("a kernel kind without a generator");
}
