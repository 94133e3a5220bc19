// Properties of the machine code: what an instruction set can do is used, and
// nothing of the accumulators is spilled inside the loop over K.
#include "compiler/codegen/contraction/Contraction.h"
#include "test/compiler/codegen/contraction/KernelText.h"
#include "test/compiler/codegen/harness/Harness.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace stint;
using namespace stint::test;

namespace {

std::string assemblyOf(const std::string &text, llvm::StringRef variantName) {
  target::Variant variant = llvm::cantFail(target::lookup(variantName));
  auto kernel = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context()));
  mlir::OwningOpRef<mlir::ModuleOp> into = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context()));
  auto scratch = codegen::lowerContraction(*kernel->getOps<mlir::func::FuncOp>().begin(), variant, *into);
  EXPECT_TRUE(static_cast<bool>(scratch));
  return llvm::cantFail(codegen::emitText(*into, variant, codegen::TextKind::assembly));
}

/// Innermost loops: from a label to a jump back to it with no label between.
std::vector<std::string> innermostLoops(llvm::StringRef assembly) {
  std::vector<std::string> loops;
  llvm::StringRef label;
  std::string body;
  llvm::SmallVector<llvm::StringRef> lines;
  assembly.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::StringRef code = line.split('#').first.split("//").first.trim();
    if (code.starts_with(".L") && code.ends_with(":")) {
      label = code.drop_back();
      body.clear();
      continue;
    }
    body += code.str() + "\n";
    if (!label.empty() && code.ends_with(label) && (code.starts_with("j") || code.starts_with("b"))) {
      loops.push_back(body);
      label = "";
    }
  }
  return loops;
}

size_t occurrences(llvm::StringRef text, llvm::StringRef word) { return text.count(word); }

/// The loop with most of `word`; of equal ones the one that uses the stack
/// least: tiles of the last few rows need more pointers than there are.
std::string hottest(const std::string &assembly, llvm::StringRef word) {
  auto rank = [&](llvm::StringRef loop) {
    return std::make_pair(occurrences(loop, word), -static_cast<int64_t>(occurrences(loop, "sp)")));
  };
  std::string best;
  for (const std::string &loop : innermostLoops(assembly))
    if (rank(loop) > rank(best))
      best = loop;
  return best;
}

const std::string kGemm = textOf(MatMul{{"96", "128"}, {"128", "64"}, "f32", Epilogue::biasRelu});

TEST(ContractionCode, Avx512) {
  std::string loop = hottest(assemblyOf(kGemm, "v4"), "vfmadd");
  EXPECT_GE(occurrences(loop, "vfmadd"), 12u) << loop;
  EXPECT_GE(occurrences(loop, "zmm"), 12u) << loop;
  EXPECT_EQ(occurrences(loop, "rsp"), 0u) << loop;
}

TEST(ContractionCode, Avx2) {
  std::string loop = hottest(assemblyOf(kGemm, "v3"), "vfmadd");
  EXPECT_EQ(occurrences(loop, "vfmadd"), 12u) << loop;
  EXPECT_EQ(occurrences(loop, "rsp"), 0u) << loop;
}

TEST(ContractionCode, Sse) {
  std::string loop = hottest(assemblyOf(kGemm, "v2"), "addps");
  EXPECT_GE(occurrences(loop, "mulps"), 8u) << loop;
  EXPECT_EQ(occurrences(loop, "rsp"), 0u) << loop;
}

TEST(ContractionCode, Neon) {
  for (const char *variant : {"neon", "dotprod", "i8mm"}) {
    std::string loop = hottest(assemblyOf(kGemm, variant), "fmla");
    EXPECT_GE(occurrences(loop, "fmla"), 64u) << loop;
    EXPECT_EQ(occurrences(loop, "[sp"), 0u) << variant << "\n" << loop;
  }
}

} // namespace
