// The floating-point control state kernels run under: round to nearest,
// denormals kept, no traps. Results must not depend on what the application
// set on the thread that happens to run a workgroup.
#ifndef STINT_RUNTIME_BASE_FP_STATE_H
#define STINT_RUNTIME_BASE_FP_STATE_H

#include <cstdint>

namespace stint {

// Sets the state for its lifetime and puts back what was there.
class FpState {
public:
  FpState() {
#if defined(__x86_64__)
    asm volatile("stmxcsr %0" : "=m"(saved));
    uint32_t wanted = 0x1f80; // all exceptions masked, nothing else
    asm volatile("ldmxcsr %0" : : "m"(wanted));
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(saved));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t(0)));
#endif
  }
  ~FpState() {
#if defined(__x86_64__)
    asm volatile("ldmxcsr %0" : : "m"(saved));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(saved));
#endif
  }
  FpState(const FpState &) = delete;
  FpState &operator=(const FpState &) = delete;

private:
#if defined(__aarch64__)
  uint64_t saved = 0;
#else
  uint32_t saved = 0;
#endif
};

// A hint that this thread is spinning.
inline void cpuRelax() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace stint

#endif
