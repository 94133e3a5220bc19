// What must hold of a decoded plan before anything uses it: symbols, weights,
// kernels and variants against each other and against the section table.
#include "runtime/plan/plan.h"

#include "runtime/base/arithmetic.h"

namespace stint {
namespace {

Status verifySymbols(const Plan &plan) {
  for (uint32_t i = 0; i < plan.symbols.size; ++i) {
    const Symbol &symbol = plan.symbols[i];
    if (symbol.lower < 0 || symbol.upper < symbol.lower)
      return malformed("%o has bounds %a..%b", symbol.lower, symbol.upper).about(STINT_OBJECT_SYMBOL, i);
  }
  return success();
}

Status verifyWeights(const Plan &plan, Span<const stint_section> sections) {
  for (uint32_t i = 0; i < plan.weights.size; ++i) {
    const Weight &weight = plan.weights[i];
    if (weight.section >= sections.size)
      return malformed("%o lies in section %a of %b", weight.section, sections.size).about(STINT_OBJECT_WEIGHT, i);
    const stint_section &section = sections[weight.section];
    if (section.kind != STINT_SECTION_WEIGHTS && section.kind != STINT_SECTION_CONSTANTS)
      return malformed("%o lies in a section of kind %a", section.kind).about(STINT_OBJECT_WEIGHT, i);
    if (weight.offset % STINT_WEIGHT_ALIGNMENT != 0 || !rangeFits(weight.offset, weight.size, section.size))
      return malformed("%o at offset %a leaves its section of %b bytes", static_cast<int64_t>(weight.offset),
                       static_cast<int64_t>(section.size))
          .about(STINT_OBJECT_WEIGHT, i);
  }
  for (uint32_t i = 0; i < plan.weightHashes.size; ++i) {
    const WeightHashes &hashes = plan.weightHashes[i];
    if (hashes.section >= sections.size || sections[hashes.section].kind != STINT_SECTION_WEIGHTS)
      return malformed("hashes for section %a, which holds no weights", hashes.section);
    uint64_t size = sections[hashes.section].size;
    uint64_t chunks = size / STINT_WEIGHT_CHUNK + (size % STINT_WEIGHT_CHUNK != 0 ? 1 : 0);
    if (hashes.hashes.size != chunks * 32)
      return malformed("%o has %a bytes of hashes for %b chunks", hashes.hashes.size, static_cast<int64_t>(chunks))
          .about(STINT_OBJECT_SECTION, hashes.section);
  }
  return success();
}

Status verifyCode(const Plan &plan, Span<const stint_section> sections) {
  for (uint32_t i = 0; i < plan.kernels.size; ++i)
    if (plan.kernels[i].hash.size != 0 && plan.kernels[i].hash.size != 32)
      return malformed("%o has a hash of %a bytes", plan.kernels[i].hash.size).about(STINT_OBJECT_KERNEL, i);
  for (uint32_t i = 0; i < plan.variants.size; ++i) {
    const Variant &variant = plan.variants[i];
    if (variant.section >= sections.size || sections[variant.section].kind != STINT_SECTION_CODE)
      return malformed("%o has its code in section %a", variant.section).about(STINT_OBJECT_VARIANT, i);
    if (variant.entries.size != plan.kernels.size)
      return malformed("%o has %a entries for %b kernels", variant.entries.size, plan.kernels.size)
          .about(STINT_OBJECT_VARIANT, i);
    uint64_t size = sections[variant.section].size;
    for (uint64_t entry : variant.entries)
      if (entry >= size)
        return malformed("%o enters at %a, behind its %b bytes of code", static_cast<int64_t>(entry),
                         static_cast<int64_t>(size))
            .about(STINT_OBJECT_VARIANT, i);
    if (variant.scratch > INT64_MAX / 1024)
      return malformed("%o wants %a bytes of scratch", static_cast<int64_t>(variant.scratch))
          .about(STINT_OBJECT_VARIANT, i);
  }
  return success();
}

} // namespace

Status verifyPlan(const Plan &plan, Span<const stint_section> sections) {
  STINT_TRY(verifySymbols(plan));
  STINT_TRY(verifyWeights(plan, sections));
  STINT_TRY(verifyCode(plan, sections));
  if (plan.entries.empty())
    return malformed("the plan has no entry");
  for (uint32_t i = 0; i < plan.entries.size; ++i) {
    Status status = verifyEntry(plan, plan.entries[i]);
    if (!status.ok()) {
      status.value.entry = i;
      return status;
    }
  }
  for (const Decoder &decoder : plan.decoder)
    STINT_TRY(verifyDecoder(plan, decoder, sections));
  return success();
}

} // namespace stint
