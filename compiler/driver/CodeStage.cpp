// Work is cut into pieces of kKernelsPerObject kernels of one variant, which
// two threads claim; each piece has a module of its own and becomes an object.
// Then each variant's objects are linked, in order.
#include "compiler/driver/CodeStage.h"

#include "compiler/codegen/Codegen.h"
#include "compiler/driver/Crash.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace mlir;
using namespace stint;
using namespace stint::driver;

static constexpr size_t kKernelsPerObject = 12;
static constexpr unsigned kThreads = 2;

namespace {
/// One object to be made, and what came of it.
struct Piece {
  const target::Variant *variant;
  ArrayRef<func::FuncOp> kernels;
  std::vector<char> object = {};
  uint64_t scratch = 0;
  std::string error = {};
  double lowering = 0, compiling = 0; // seconds
};

/// Seconds since it was made.
class Timer {
public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
};
} // namespace

/// A new module with the kernels lowered for the variant.
static llvm::Expected<OwningOpRef<ModuleOp>> lower(ArrayRef<func::FuncOp> kernels, const target::Variant &variant,
                                                   MLIRContext *context, uint64_t &scratch) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  for (func::FuncOp kernel : kernels) {
    llvm::Expected<int64_t> bytes = codegen::lowerKernel(kernel, variant, *module);
    if (!bytes)
      return llvm::createStringError(llvm::inconvertibleErrorCode(), "kernel '" + kernel.getName() + "' for " +
                                                                         variant.name + ": " +
                                                                         llvm::toString(bytes.takeError()));
    scratch = std::max(scratch, static_cast<uint64_t>(*bytes));
  }
  return module;
}

static void work(Piece &piece, MLIRContext *context) {
  Timer lowering;
  auto module = lower(piece.kernels, *piece.variant, context, piece.scratch);
  piece.lowering = lowering.seconds();
  if (!module) {
    piece.error = llvm::toString(module.takeError());
    return;
  }
  Timer compiling;
  auto object = codegen::compileObject(**module, *piece.variant);
  piece.compiling = compiling.seconds();
  if (!object) {
    piece.error = "for " + piece.variant->name + ": " + llvm::toString(object.takeError());
    return;
  }
  piece.object = std::move(*object);
}

llvm::Expected<std::vector<serialise::VariantCode>>
driver::generateCode(ModuleOp module, ArrayRef<target::Variant> variants, Stopwatch *time) {
  SmallVector<func::FuncOp> kernels = serialise::kernelsOf(module);
  std::vector<Piece> pieces;
  for (const target::Variant &variant : variants)
    for (size_t first = 0; first < kernels.size(); first += kKernelsPerObject)
      pieces.push_back({&variant, ArrayRef(kernels).slice(first, std::min(kKernelsPerObject, kernels.size() - first))});
  MLIRContext *context = module.getContext();
  std::atomic<size_t> next{0};
  auto loop = [&] {
    for (size_t i; (i = next++) < pieces.size();)
      work(pieces[i], context);
  };
  // The first piece alone: it loads what the others then only look up.
  if (!pieces.empty())
    work(pieces[next++], context);
  std::thread helper;
  if (pieces.size() > 2 && std::thread::hardware_concurrency() >= kThreads)
    helper = std::thread([&] { runOnDeepStack(loop); });
  loop();
  if (helper.joinable())
    helper.join();
  for (const Piece &piece : pieces)
    if (!piece.error.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(), piece.error);

  std::vector<std::string> names;
  for (func::FuncOp kernel : kernels)
    names.push_back(kernel.getName().str());
  std::vector<serialise::VariantCode> result;
  for (const target::Variant &variant : variants) {
    serialise::VariantCode code;
    code.variant = variant;
    std::vector<ArrayRef<char>> objects;
    double lowering = 0, compiling = 0;
    for (const Piece &piece : pieces)
      if (piece.variant == &variant) {
        lowering += piece.lowering;
        compiling += piece.compiling;
        objects.push_back(piece.object);
        code.scratch = std::max(code.scratch, piece.scratch);
      }
    Timer linking;
    if (!objects.empty()) {
      auto linked = codegen::linkVariant(objects, names, variant);
      if (!linked)
        return linked.takeError();
      code.bytes = std::move(linked->bytes);
      code.entries = std::move(linked->entries);
    }
    if (time) {
      time->detail(variant.name + ": loops", lowering);
      time->detail(variant.name + ": machine code", compiling);
      time->detail(variant.name + ": link", linking.seconds());
    }
    result.push_back(std::move(code));
  }
  return result;
}

llvm::Expected<std::string> driver::kernelText(ModuleOp module, const target::Variant &variant, Emit emit) {
  SmallVector<func::FuncOp> kernels = serialise::kernelsOf(module);
  uint64_t scratch = 0;
  auto lowered = lower(kernels, variant, module.getContext(), scratch);
  if (!lowered)
    return lowered.takeError();
  if (emit != Emit::Kernel)
    return codegen::emitText(**lowered, variant,
                             emit == Emit::Llvm ? codegen::TextKind::llvm : codegen::TextKind::assembly);
  std::string text;
  llvm::raw_string_ostream os(text);
  (*lowered)->print(os);
  os << "\n";
  return os.str();
}

llvm::Expected<std::vector<char>> driver::kernelObject(ModuleOp module, const target::Variant &variant,
                                                       StringRef prefix, uint64_t &scratch) {
  SmallVector<func::FuncOp> kernels = serialise::kernelsOf(module);
  auto lowered = lower(kernels, variant, module.getContext(), scratch);
  if (!lowered)
    return lowered.takeError();
  if (!prefix.empty())
    for (auto function : (*lowered)->getOps<func::FuncOp>())
      function.setName((prefix + function.getName()).str());
  return codegen::compileObject(**lowered, variant);
}
