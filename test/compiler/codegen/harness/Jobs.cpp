// Making jobs, and running them.
#include "test/compiler/codegen/harness/Jobs.h"

#include "dialects/Graph/KernelGrid.h"
#include "test/compiler/codegen/harness/Execute.h"
#include "test/compiler/codegen/harness/Layout.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstring>
#include <random>

using namespace stint;
using namespace stint::test;
using graph::GraphTensorType;

/// Most workgroups that a job has.
static constexpr int64_t kMostBoxes = 600;

/// Points that cut [0, units) into pieces of about `tile`.
static std::vector<int64_t> cuts(int64_t units, int64_t tile, bool irregular, std::mt19937_64 &random) {
  std::vector<int64_t> points = {0};
  while (points.back() < units) {
    int64_t step = irregular && tile > 1 ? 1 + static_cast<int64_t>(random() % (2 * tile - 1)) : tile;
    points.push_back(std::min(units, points.back() + step));
  }
  return points;
}

static std::vector<JobBox> boxesOf(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols, Split split) {
  auto kind = kernel->getAttrOfType<graph::KernelKindAttr>("graph.kind").getValue();
  graph::KernelGrid grid = graph::gridOf(kind, kernel.getBody().front());
  int64_t units[3], tile[3], count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    units[axis] = graph::Symbols::evaluate(grid.units[axis], symbols);
    tile[axis] = std::max<int64_t>(graph::Symbols::evaluate(grid.tile[axis], symbols), 1);
    if (split == Split::whole)
      tile[axis] = std::max<int64_t>(units[axis], 1);
    else if (split == Split::finest)
      tile[axis] = 1;
    count *= (units[axis] + tile[axis] - 1) / tile[axis];
  }
  for (int axis = 0; count > kMostBoxes; axis = (axis + 1) % 3) {
    int64_t before = (units[axis] + tile[axis] - 1) / tile[axis];
    tile[axis] = std::min(2 * tile[axis], std::max<int64_t>(units[axis], 1));
    count = count / before * ((units[axis] + tile[axis] - 1) / tile[axis]);
  }
  std::mt19937_64 random(units[0] * 31 + units[1] * 7 + units[2]);
  std::vector<int64_t> points[3];
  for (int axis = 0; axis < 3; ++axis)
    points[axis] = cuts(units[axis], tile[axis], split == Split::finest && tile[axis] < units[axis], random);
  std::vector<JobBox> boxes;
  for (size_t i = 1; i < points[0].size(); ++i)
    for (size_t j = 1; j < points[1].size(); ++j)
      for (size_t k = 1; k < points[2].size(); ++k)
        boxes.push_back(
            {{points[0][i - 1], points[1][j - 1], points[2][k - 1]}, {points[0][i], points[1][j], points[2][k]}});
  if (split == Split::finest)
    std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

static void append(std::vector<char> &to, const void *bytes, size_t size) {
  auto *from = static_cast<const char *>(bytes);
  to.insert(to.end(), from, from + size);
  to.resize(padTo8(to.size()));
}

std::vector<char> stint::test::makeJob(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols,
                                       llvm::ArrayRef<Tensor> operands, uint64_t entry, uint64_t scratch,
                                       const JobOptions &options) {
  std::vector<JobBuffer> buffers;
  std::vector<char> contents;
  for (auto [type, tensor] : llvm::zip_equal(kernel.getArgumentTypes(), operands)) {
    std::vector<char> bytes = pack(tensor, llvm::cast<GraphTensorType>(type), symbols);
    buffers.push_back({bytes.size(), static_cast<uint32_t>(bytesOf(tensor.element)), 0, -1});
    append(contents, bytes.data(), bytes.size());
  }
  for (mlir::Type type : kernel.getResultTypes()) {
    auto tensorType = llvm::cast<GraphTensorType>(type);
    buffers.push_back({bufferBytes(tensorType, symbols),
                       static_cast<uint32_t>(bytesOf(elementOf(tensorType.getElementType()))), 1, -1});
  }
  for (auto [operand, result] : options.inPlace)
    buffers[operands.size() + result].sharesWith = operand;
  std::vector<JobBox> boxes = boxesOf(kernel, symbols, options.split);

  JobHeader header = {};
  header.entry = entry;
  header.scratch = scratch;
  header.boxCount = boxes.size();
  header.bufferCount = static_cast<uint32_t>(buffers.size());
  header.dimCount = static_cast<uint32_t>(symbols.size());
  header.placement = options.placement;
  header.poison = options.poison;
  std::vector<char> job;
  append(job, &header, sizeof header);
  append(job, symbols.data(), symbols.size() * sizeof(int64_t));
  append(job, buffers.data(), buffers.size() * sizeof(JobBuffer));
  append(job, boxes.data(), boxes.size() * sizeof(JobBox));
  append(job, contents.data(), contents.size());
  reinterpret_cast<JobHeader *>(job.data())->jobBytes = job.size();
  return job;
}

static std::string describe(const JobOutcome &outcome) {
  std::string detail = std::to_string(outcome.detail);
  switch (outcome.status) {
  case kJobRan:
    return "";
  case kJobFailed:
    return "returned " + detail;
  case kJobSignal:
    return outcome.detail == 14 ? "does not end"
                                : "ended with signal " + detail + " (" + strsignal(outcome.detail) + ")";
  case kJobWroteOutside:
    return "wrote outside of buffer " + detail;
  case kJobChangedOperand:
    return "changed operand " + detail;
  case kJobWroteAfterScratch:
    return "wrote after its scratch";
  default:
    return "could not be run: no memory";
  }
}

JobResult stint::test::readOutcome(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> symbols,
                                   llvm::ArrayRef<char> outcome) {
  JobResult result;
  if (outcome.empty()) {
    result.error = "was not run";
    return result;
  }
  JobOutcome header;
  memcpy(&header, outcome.data(), sizeof header);
  result.error = describe(header);
  const char *bytes = outcome.data() + sizeof header;
  for (mlir::Type type : kernel.getResultTypes()) {
    if (!result.error.empty())
      break;
    auto tensorType = llvm::cast<GraphTensorType>(type);
    bool zero;
    result.tensors.push_back(unpack(bytes, tensorType, symbols, zero));
    const Tensor &tensor = result.tensors.back();
    if (!zero)
      result.error = "left padding that is not zero";
    if (tensor.element == Element::boolean)
      for (int64_t i = 0; i < tensor.size(); ++i)
        if (tensor.bits(i) > 1)
          result.error = "wrote a boolean that is neither 0 nor 1";
    bytes += padTo8(bufferBytes(tensorType, symbols));
  }
  return result;
}

// Running.

static target::Machine hostMachine() {
  return llvm::Triple(llvm::sys::getProcessTriple()).isAArch64() ? target::Machine::aarch64 : target::Machine::x86_64;
}

static std::string qemuPath() {
  auto path = llvm::sys::findProgramByName("qemu-aarch64");
  return path ? *path : "";
}

std::string stint::test::whyNotRunnable(const target::Variant &variant) {
  if (variant.machine == hostMachine()) {
    auto features = llvm::sys::getHostCPUFeatures();
    llvm::SmallVector<llvm::StringRef> needed;
    llvm::StringRef(variant.features).split(needed, ',', -1, false);
    for (llvm::StringRef feature : needed)
      if (feature.consume_front("+") && variant.machine == target::Machine::x86_64 && !features.lookup(feature))
        return "this machine has no " + feature.str();
    return "";
  }
  if (variant.machine != target::Machine::aarch64)
    return "no emulator for this machine";
  if (!llvm::sys::fs::exists(STINT_KERNEL_RUNNER))
    return "kernel-runner was not built (it needs a sysroot: tools/get-aarch64-sysroot)";
  return qemuPath().empty() ? "no qemu-aarch64" : "";
}

static std::vector<std::vector<char>> runNatively(const codegen::LinkedCode &code,
                                                  llvm::ArrayRef<std::vector<char>> jobs, std::string &error) {
  std::vector<std::vector<char>> outcomes(jobs.size());
  const char *mapped = mapCode(code.bytes.data(), code.bytes.size());
  if (!mapped) {
    error = "cannot map the code";
    return outcomes;
  }
  for (auto [job, outcome] : llvm::zip_equal(jobs, outcomes)) {
    auto *header = reinterpret_cast<const JobHeader *>(job.data());
    outcome.resize(outcomeBytes(header));
    execute(header, mapped, reinterpret_cast<JobOutcome *>(outcome.data()));
  }
  unmapCode(mapped, code.bytes.size());
  return outcomes;
}

static bool writeJobs(int descriptor, const codegen::LinkedCode &code, llvm::ArrayRef<std::vector<char>> jobs) {
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  JobFile file = {code.bytes.size(), jobs.size()};
  out.write(reinterpret_cast<const char *>(&file), sizeof file);
  out.write(code.bytes.data(), code.bytes.size());
  out.write_zeros(padTo8(code.bytes.size()) - code.bytes.size());
  for (const std::vector<char> &job : jobs)
    out.write(job.data(), job.size());
  out.flush();
  bool failed = out.has_error();
  out.clear_error();
  return !failed;
}

/// The CPU model of qemu that has the variant's features and few others.
static const char *cpuModel(const target::Variant &variant) {
  return variant.name == "neon" ? "cortex-a53" : variant.name == "dotprod" ? "cortex-a76" : "max";
}

static std::vector<std::vector<char>> runUnderQemu(const codegen::LinkedCode &code,
                                                   llvm::ArrayRef<std::vector<char>> jobs,
                                                   const target::Variant &variant, std::string &error) {
  std::vector<std::vector<char>> outcomes(jobs.size());
  llvm::SmallString<128> input, output;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("kernel", "jobs", descriptor, input) ||
      llvm::sys::fs::createTemporaryFile("kernel", "outcomes", output) || !writeJobs(descriptor, code, jobs)) {
    error = "cannot write a temporary file";
    return outcomes;
  }
  std::string qemu = qemuPath(), why;
  llvm::StringRef arguments[] = {qemu, "-cpu", cpuModel(variant), STINT_KERNEL_RUNNER, input, output};
  int exit = llvm::sys::ExecuteAndWait(qemu, arguments, std::nullopt, {}, /*SecondsToWait=*/300, 0, &why);
  if (exit != 0)
    error = "kernel-runner under qemu ended with " + std::to_string(exit) + " " + why;
  if (auto buffer = llvm::MemoryBuffer::getFile(output)) {
    llvm::StringRef rest = (*buffer)->getBuffer();
    for (auto [job, outcome] : llvm::zip_equal(jobs, outcomes)) {
      uint64_t size = outcomeBytes(reinterpret_cast<const JobHeader *>(job.data()));
      if (rest.size() < size)
        break;
      outcome.assign(rest.begin(), rest.begin() + size);
      rest = rest.drop_front(size);
    }
  }
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  return outcomes;
}

std::vector<std::vector<char>> stint::test::runJobs(const codegen::LinkedCode &code,
                                                    llvm::ArrayRef<std::vector<char>> jobs,
                                                    const target::Variant &variant, std::string &error) {
  if (variant.machine == hostMachine())
    return runNatively(code, jobs, error);
  return runUnderQemu(code, jobs, variant, error);
}
