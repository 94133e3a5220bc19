// Machine code: which variant of the plan this machine should run, and how it
// gets into memory.
#ifndef STINT_RUNTIME_CODE_CODE_H
#define STINT_RUNTIME_CODE_CODE_H

#include "runtime/plan/file.h"
#include "runtime/plan/plan.h"
#include "runtime/platform/platform.h"
#include "runtime/schema/kernel_abi.h"

namespace stint {

class Pool;

// True if this machine has what the variant needs and this runtime speaks its
// kernel ABI.
bool variantAvailable(const Variant &variant, const platform::CpuInfo &cpu);

// The last available variant of the list, or the one called `forced`.
Status chooseVariant(const Plan &plan, const platform::CpuInfo &cpu, const char *forced, uint32_t *chosen);

// Copies a variant's code (from the file at `data`) to sealed memory, checks
// its hash there, and finds every kernel. The mapping is the caller's to
// unmap, on failure too.
Status loadVariant(const PlanFile &file, const Plan &plan, uint32_t variant, const uint8_t *data,
                   const platform::CpuInfo &cpu, Pool *pool, platform::Mapping *code, Span<stint_kernel> *kernels);

// Finds every kernel in the application's table instead, by hash.
Status bindStaticKernels(const Plan &plan, const stint_static_kernel *table, size_t count, Pool *pool,
                         Span<stint_kernel> *kernels);

} // namespace stint

#endif
