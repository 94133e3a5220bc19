// Choosing and loading a variant. There is nothing to link: a variant has no
// relocations, no imports and no writable data, only entry offsets.
#include "runtime/code/code.h"

#include "runtime/plan/pool.h"
#include "runtime/schema/version.h"

#include <string.h>

namespace stint {

bool variantAvailable(const Variant &variant, const platform::CpuInfo &cpu) {
  if (variant.machine != cpu.machine || variant.kernelAbi != STINT_KERNEL_ABI_VERSION)
    return false;
  for (uint16_t feature : variant.features)
    if (!cpu.has(feature))
      return false;
  return true;
}

Status chooseVariant(const Plan &plan, const platform::CpuInfo &cpu, const char *forced, uint32_t *chosen) {
  for (uint32_t i = plan.variants.size; i-- > 0;) {
    const Variant &variant = plan.variants[i];
    if (forced && strcmp(variant.name, forced) != 0)
      continue;
    *chosen = i;
    if (variantAvailable(variant, cpu))
      return success();
    if (forced)
      return failure(STINT_STATUS_UNSUPPORTED,
                     "this machine cannot run the variant: it is another architecture or lacks a CPU feature")
          .about(STINT_OBJECT_VARIANT, i);
  }
  if (forced)
    return failure(STINT_STATUS_NOT_FOUND, "the plan has no variant of that name");
  return failure(STINT_STATUS_UNSUPPORTED,
                 "none of the plan's %a variants is for this machine: compile "
                 "the model with a --target for it",
                 plan.variants.size);
}

Status loadVariant(const PlanFile &file, const Plan &plan, uint32_t index, const uint8_t *data,
                   const platform::CpuInfo &cpu, Pool *pool, platform::Mapping *code, Span<stint_kernel> *kernels) {
  const Variant &variant = plan.variants[index];
  const stint_section &section = file.sections[variant.section];
  if (!pool->array(plan.kernels.size, kernels))
    return outOfMemory(plan.kernels.size * sizeof(stint_kernel));
  if (plan.kernels.empty())
    return success();
  STINT_TRY(platform::sealCode(data + section.offset, section.size, code));
  STINT_TRY(hashSection(file, variant.section, code->data, cpu.sha256));
  for (uint32_t i = 0; i < kernels->size; ++i) {
    if (cpu.machine == 2 && variant.entries[i] % 4 != 0)
      return malformed("%o enters between instructions, at %a", static_cast<int64_t>(variant.entries[i]))
          .about(STINT_OBJECT_VARIANT, index);
    (*kernels)[i] = reinterpret_cast<stint_kernel>(static_cast<uint8_t *>(code->base) + variant.entries[i]);
  }
  return success();
}

Status bindStaticKernels(const Plan &plan, const stint_static_kernel *table, size_t count, Pool *pool,
                         Span<stint_kernel> *kernels) {
  if (!pool->array(plan.kernels.size, kernels))
    return outOfMemory(plan.kernels.size * sizeof(stint_kernel));
  for (uint32_t i = 0; i < kernels->size; ++i) {
    const Kernel &kernel = plan.kernels[i];
    for (size_t j = 0; j < count && !(*kernels)[i]; ++j)
      if (kernel.hash.size == 32 && memcmp(table[j].hash, kernel.hash.data, 32) == 0)
        (*kernels)[i] = table[j].function;
    if (!(*kernels)[i])
      return failure(STINT_STATUS_NOT_FOUND, "%o is not among the application's static kernels: link "
                                             "the archive made with this plan")
          .about(STINT_OBJECT_KERNEL, i);
  }
  return success();
}

} // namespace stint
