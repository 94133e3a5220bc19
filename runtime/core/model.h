// The opened model: everything immutable, shared by its sessions.
#ifndef STINT_RUNTIME_CORE_MODEL_H
#define STINT_RUNTIME_CORE_MODEL_H

#include "runtime/plan/file.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/pool.h"
#include "runtime/platform/platform.h"
#include "runtime/schema/kernel_abi.h"

#include <atomic>

namespace stint {

constexpr uint32_t noVariant = 0xffffffff;

// The tokenizer and the chat template, runtime/generation/model_text.h.
struct ModelText;

// What a model works out about an entry when it is opened.
struct EntryFacts {
  Span<uint32_t> targets; // of the body's control flow, see findTargets
  // All registers after the prologue with every symbol at its lower and at
  // its upper bound; empty where the prologue fails there.
  Span<int64_t> lower, upper;
  uint32_t maxBuffers, maxDims; // of any dispatch
};

} // namespace stint

struct stint_model {
  std::atomic<uint32_t> references{1};
  stint::Pool pool;
  stint::platform::CpuInfo cpu;
  stint::platform::Mapping file; // empty if the bytes are the caller's
  stint::platform::Mapping code; // empty with static kernels
  stint::PlanFile planFile;
  stint::Plan plan;
  uint64_t planBytes = 0, constantBytes = 0, weightBytes = 0, textBytes = 0;

  uint32_t variant = stint::noVariant;
  stint::Span<stint_kernel> kernels; // empty without a variant
  uint64_t scratch = 0;              // bytes per thread

  // Start of each section: weights in the file, constants, tokenizer and chat
  // template in a checked copy, others null.
  stint::Span<const uint8_t *> sections;
  uint32_t tokenizerSection = stint::noSection, chatSection = stint::noSection;
  stint::ModelText *text = nullptr;     // in the pool; null without a tokenizer
  stint::Span<stint::EntryFacts> facts; // one per entry

  int32_t verify = STINT_VERIFY_OFF;
  // Per weight section (by plan.weightHashes): a byte per chunk, 1 once it
  // was found sound. Written by any thread, always with the same value.
  stint::Span<stint::Span<uint8_t>> verified;

  // Compares the chunks under [offset, offset + size) of a section of weights
  // with their hashes, those not seen yet.
  stint::Status verifyChunks(uint32_t section, uint64_t offset, uint64_t size);
};

namespace stint {

// Sets model->text from its sections. What they mean is the business of the
// layer above: runtime/generation/model_text.cpp.
Status openText(stint_model *model);

} // namespace stint

#endif
