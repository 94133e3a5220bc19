// Linux: which rows of cpu_features.def this CPU, under this system, has.
#include "runtime/platform/platform.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace stint::platform {
namespace {

enum FeatureId : uint32_t {
#define STINT_CPU_FEATURE(id, machine, identifier, name) machine##_##identifier = id,
#include "runtime/schema/cpu_features.def"
};

[[maybe_unused]] void set(CpuInfo *info, uint32_t id, bool present) {
  if (present)
    info->bits[id / 64] |= uint64_t(1) << (id % 64);
}

} // namespace

#if defined(__x86_64__)

CpuInfo cpuInfo() {
  CpuInfo info;
  info.machine = 1;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return info;
  auto bit = [](uint32_t word, int index) { return (word >> index & 1) != 0; };
  // A register file counts only if the system saves it: XCR0 tells.
  uint32_t saved = 0;
  if (bit(c, 27)) {
    uint32_t high;
    asm volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  }
  bool ymm = (saved & 0x06) == 0x06;
  bool zmm = (saved & 0xe6) == 0xe6;
  set(&info, X86_64_SSE3, bit(c, 0));
  set(&info, X86_64_SSSE3, bit(c, 9));
  set(&info, X86_64_SSE4_1, bit(c, 19));
  set(&info, X86_64_SSE4_2, bit(c, 20));
  set(&info, X86_64_POPCNT, bit(c, 23));
  set(&info, X86_64_MOVBE, bit(c, 22));
  set(&info, X86_64_AVX, ymm && bit(c, 28));
  set(&info, X86_64_F16C, ymm && bit(c, 29));
  set(&info, X86_64_FMA, ymm && bit(c, 12));
  bool sse41 = bit(c, 19);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    uint32_t subleaves = a;
    set(&info, X86_64_AVX2, ymm && bit(b, 5));
    set(&info, X86_64_BMI1, bit(b, 3));
    set(&info, X86_64_BMI2, bit(b, 8));
    set(&info, X86_64_AVX512F, zmm && bit(b, 16));
    set(&info, X86_64_AVX512BW, zmm && bit(b, 30));
    set(&info, X86_64_AVX512CD, zmm && bit(b, 28));
    set(&info, X86_64_AVX512DQ, zmm && bit(b, 17));
    set(&info, X86_64_AVX512VL, zmm && bit(b, 31));
    set(&info, X86_64_AVX512VNNI, zmm && bit(c, 11));
    info.sha256 = sse41 && bit(b, 29);
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
      set(&info, X86_64_AVXVNNI, ymm && bit(a, 4));
      set(&info, X86_64_AVX512BF16, zmm && bit(a, 5));
    }
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    set(&info, X86_64_LZCNT, bit(c, 5));
  return info;
}

#elif defined(__aarch64__)

// Bits of AT_HWCAP and AT_HWCAP2 (Linux, arch/arm64 uapi hwcap.h).
CpuInfo cpuInfo() {
  CpuInfo info;
  info.machine = 2;
  unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  auto bit = [](unsigned long word, int index) { return (word >> index & 1) != 0; };
  set(&info, AARCH64_FP16, bit(first, 9) && bit(first, 10)); // FPHP, ASIMDHP
  set(&info, AARCH64_DOTPROD, bit(first, 20));
  set(&info, AARCH64_SVE, bit(first, 22));
  set(&info, AARCH64_SVE2, bit(second, 1));
  set(&info, AARCH64_I8MM, bit(second, 13));
  set(&info, AARCH64_BF16, bit(second, 14));
  info.sha256 = bit(first, 6);
  return info;
}

#else

CpuInfo cpuInfo() { return CpuInfo(); }

#endif

} // namespace stint::platform
