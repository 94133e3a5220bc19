// Opening a model: file, plan, code, constants, facts, in this order, each
// checked before the next is looked at; and reference counting.
#include "runtime/core/model.h"

#include "runtime/base/options.h"
#include "runtime/base/sha256.h"
#include "runtime/code/code.h"
#include "runtime/core/machine.h"

#include <new>
#include <string.h>

using namespace stint;

namespace {

void destroy(stint_model *model) {
  platform::unmap(&model->file);
  platform::unmap(&model->code);
  model->~stint_model();
  platform::free(model, sizeof(stint_model));
}

// Sections in memory: weights where they are; constants, because kernels use
// them as indices, and text are copied and checked.
Status loadSections(stint_model *model, const uint8_t *data) {
  Span<const stint_section> table = model->planFile.sections;
  if (!model->pool.array(table.size, &model->sections))
    return outOfMemory(table.size * sizeof(void *));
  for (uint32_t i = 0; i < table.size; ++i) {
    const stint_section &section = table[i];
    if (section.kind == STINT_SECTION_WEIGHTS) {
      model->sections[i] = data + section.offset;
      model->weightBytes += section.size;
    } else if (section.kind == STINT_SECTION_CONSTANTS || section.kind == STINT_SECTION_TOKENIZER ||
               section.kind == STINT_SECTION_CHAT) {
      void *copy = model->pool.allocate(section.size);
      if (!copy)
        return outOfMemory(section.size);
      memcpy(copy, data + section.offset, section.size);
      STINT_TRY(hashSection(model->planFile, i, copy, model->cpu.sha256));
      model->sections[i] = static_cast<uint8_t *>(copy);
      if (section.kind == STINT_SECTION_CONSTANTS) {
        model->constantBytes += section.size;
        continue;
      }
      uint32_t &which = section.kind == STINT_SECTION_CHAT ? model->chatSection : model->tokenizerSection;
      if (which != noSection)
        return malformed("%o is a second tokenizer or chat template").about(STINT_OBJECT_SECTION, i);
      which = i;
      model->textBytes += section.size;
    }
  }
  return success();
}

Status loadCode(stint_model *model, const uint8_t *data, const stint_model_options &options) {
  if (options.static_kernels) {
    model->scratch = options.static_scratch;
    return bindStaticKernels(model->plan, options.static_kernels, options.static_kernel_count, &model->pool,
                             &model->kernels);
  }
  if (options.variant && strcmp(options.variant, "none") == 0)
    return success();
  STINT_TRY(chooseVariant(model->plan, model->cpu, options.variant, &model->variant));
  model->scratch = model->plan.variants[model->variant].scratch;
  return loadVariant(model->planFile, model->plan, model->variant, data, model->cpu, &model->pool, &model->code,
                     &model->kernels);
}

// All registers with each symbol at one of its bounds.
Status evaluateBounds(stint_model *model, const Entry &entry, bool upper, Span<int64_t> *registers) {
  Span<int64_t> values;
  if (!model->pool.array(entry.registerCount, &values))
    return outOfMemory(entry.registerCount * sizeof(int64_t));
  for (uint32_t i = 0; i < model->plan.symbols.size; ++i)
    values[i] = upper ? model->plan.symbols[i].upper : model->plan.symbols[i].lower;
  if (runPrologue(model->plan, entry, values.data, /*checked=*/false).ok())
    *registers = values;
  return success();
}

Status findFacts(stint_model *model) {
  Span<Entry> entries = model->plan.entries;
  if (!model->pool.array(entries.size, &model->facts))
    return outOfMemory(entries.size * sizeof(EntryFacts));
  for (uint32_t i = 0; i < entries.size; ++i) {
    const Entry &entry = entries[i];
    EntryFacts &facts = model->facts[i];
    if (!model->pool.array(entry.body.size, &facts.targets))
      return outOfMemory(entry.body.size * sizeof(uint32_t));
    findTargets(entry.body, facts.targets.data);
    STINT_TRY(evaluateBounds(model, entry, false, &facts.lower));
    STINT_TRY(evaluateBounds(model, entry, true, &facts.upper));
    for (const Dispatch &dispatch : entry.dispatches) {
      if (dispatch.buffers.size > facts.maxBuffers)
        facts.maxBuffers = dispatch.buffers.size;
      if (dispatch.dims.size > facts.maxDims)
        facts.maxDims = dispatch.dims.size;
    }
  }
  return success();
}

Status prepareVerification(stint_model *model, int32_t verify) {
  if (verify < STINT_VERIFY_OFF || verify > STINT_VERIFY_FULL)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no way to verify: %a", verify);
  model->verify = verify;
  if (verify == STINT_VERIFY_OFF)
    return success();
  Span<WeightHashes> hashes = model->plan.weightHashes;
  if (!model->pool.array(hashes.size, &model->verified))
    return outOfMemory(hashes.size);
  for (uint32_t i = 0; i < hashes.size; ++i)
    if (!model->pool.array(hashes[i].hashes.size / 32, &model->verified[i]))
      return outOfMemory(hashes[i].hashes.size / 32);
  if (verify == STINT_VERIFY_FIRST_USE)
    return success();
  Span<const stint_section> sections = model->planFile.sections;
  for (uint32_t i = 0; i < sections.size; ++i)
    if (sections[i].kind == STINT_SECTION_WEIGHTS)
      STINT_TRY(model->verifyChunks(i, 0, sections[i].size));
  return success();
}

Status load(stint_model *model, const uint8_t *data, uint64_t size, const stint_model_options &options) {
  model->cpu = platform::cpuInfo();
  STINT_TRY(readPlanFile(data, size, model->cpu.sha256, &model->pool, &model->planFile));
  STINT_TRY(decodePlan(model->planFile.plan, model->planFile.header.plan_size, &model->pool, &model->plan));
  STINT_TRY(verifyPlan(model->plan, model->planFile.sections));
  STINT_TRY(findFacts(model));
  model->planBytes = model->pool.bytes();
  STINT_TRY(loadSections(model, data));
  STINT_TRY(openText(model));
  STINT_TRY(prepareVerification(model, options.verify));
  return loadCode(model, data, options);
}

// Opens what map(model, &bytes) finds.
template <typename Map> stint_status open(const stint_model_options *given, stint_model **result, Map map) {
  if (!result)
    return failure(STINT_STATUS_INVALID_ARGUMENT, "no place for the model").value;
  *result = nullptr;
  stint_model_options options;
  Status status = readOptions(given, &options);
  if (!status.ok())
    return status.value;
  void *memory = platform::allocate(sizeof(stint_model));
  if (!memory)
    return outOfMemory(sizeof(stint_model)).value;
  auto *model = new (memory) stint_model;
  platform::Mapping bytes;
  status = map(model, &bytes);
  if (status.ok())
    status = load(model, bytes.data, bytes.size, options);
  if (status.ok())
    *result = model;
  else
    destroy(model);
  return status.value;
}

} // namespace

Status stint_model::verifyChunks(uint32_t section, uint64_t offset, uint64_t size) {
  uint32_t which = 0;
  while (which < plan.weightHashes.size && plan.weightHashes[which].section != section)
    ++which;
  if (which == plan.weightHashes.size)
    return size == 0 ? success()
                     : malformed("the weights of %o have no hashes to verify").about(STINT_OBJECT_SECTION, section);
  const uint8_t *hashes = plan.weightHashes[which].hashes.data;
  uint64_t end = planFile.sections[section].size;
  uint64_t first = offset / STINT_WEIGHT_CHUNK;
  for (uint64_t i = first; i * STINT_WEIGHT_CHUNK < offset + size; ++i) {
    uint8_t *seen = &verified[which][i];
    if (__atomic_load_n(seen, __ATOMIC_RELAXED))
      continue;
    uint64_t start = i * STINT_WEIGHT_CHUNK;
    uint64_t bytes = end - start < STINT_WEIGHT_CHUNK ? end - start : STINT_WEIGHT_CHUNK;
    if (!hashMatches(sections[section] + start, bytes, hashes + 32 * i, cpu.sha256))
      return malformed("the weights of %o are damaged around byte %a", static_cast<int64_t>(start))
          .about(STINT_OBJECT_SECTION, section);
    __atomic_store_n(seen, uint8_t(1), __ATOMIC_RELAXED);
  }
  return success();
}

extern "C" {

stint_status stint_model_open_file(const char *path, const stint_model_options *options, stint_model **model) {
  return open(options, model, [=](stint_model *opened, auto *bytes) {
    if (!path)
      return failure(STINT_STATUS_INVALID_ARGUMENT, "no path");
    Status status = platform::mapFile(path, &opened->file);
    *bytes = opened->file;
    return status;
  });
}

stint_status stint_model_open_fd(int fd, uint64_t offset, uint64_t length, const stint_model_options *options,
                                 stint_model **model) {
  return open(options, model, [=](stint_model *opened, auto *bytes) {
    if (offset % STINT_WEIGHT_ALIGNMENT != 0)
      return failure(STINT_STATUS_INVALID_ARGUMENT, "the plan begins at byte %a, not a multiple of %b",
                     static_cast<int64_t>(offset), STINT_WEIGHT_ALIGNMENT);
    Status status = platform::mapDescriptor(fd, offset, length, &opened->file);
    *bytes = opened->file;
    return status;
  });
}

stint_status stint_model_open_memory(const void *data, size_t size, const stint_model_options *options,
                                     stint_model **model) {
  return open(options, model, [=](stint_model *, auto *bytes) {
    if (!data || reinterpret_cast<uintptr_t>(data) % STINT_WEIGHT_ALIGNMENT != 0)
      return failure(STINT_STATUS_INVALID_ARGUMENT, "the plan's memory is not aligned to %a bytes",
                     STINT_WEIGHT_ALIGNMENT);
    bytes->data = static_cast<const uint8_t *>(data);
    bytes->size = size;
    return success();
  });
}

void stint_model_retain(stint_model *model) {
  if (model)
    model->references.fetch_add(1, std::memory_order_relaxed);
}

void stint_model_release(stint_model *model) {
  if (model && model->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(model);
}

} // extern "C"
