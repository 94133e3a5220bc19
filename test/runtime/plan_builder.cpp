// See plan_builder.h.
#include "plan_builder.h"

#include "runtime/base/sha256.h"

#include <cstring>
#include <fstream>
#include <iterator>

namespace stint::test {

AlignedBytes::AlignedBytes(const std::vector<uint8_t> &bytes) : memory(nullptr, std::free), count(bytes.size()) {
  void *block = nullptr;
  if (posix_memalign(&block, 64, bytes.empty() ? 1 : bytes.size()) == 0)
    memory.reset(static_cast<uint8_t *>(block));
  if (!bytes.empty())
    std::memcpy(memory.get(), bytes.data(), bytes.size());
}

std::vector<uint8_t> kernelCode() {
  std::ifstream in(STINT_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

fb::Instruction instruction(fb::Opcode opcode, uint32_t dst, uint32_t a, uint32_t b, int64_t imm) {
  return {opcode, dst, a, b, imm};
}

static std::unique_ptr<fb::PortT> port(const char *name, uint32_t buffer) {
  auto port = std::make_unique<fb::PortT>();
  port->name = name;
  port->type = fb::ElementType_f32;
  port->dims = {fb::Dim(0, 0)};
  port->buffer = buffer;
  return port;
}

static std::unique_ptr<fb::DispatchT> dispatch(std::vector<uint32_t> buffers) {
  auto dispatch = std::make_unique<fb::DispatchT>();
  dispatch->kernel = 0;
  dispatch->buffers = std::move(buffers);
  dispatch->result_count = 1;
  dispatch->dims = {0};
  dispatch->grid = {0, 3, 3};
  dispatch->tile = {4, 3, 3};
  dispatch->nodes = {0};
  return dispatch;
}

std::unique_ptr<fb::PlanT> addPlan() {
  auto plan = std::make_unique<fb::PlanT>();
  plan->producer = "test";
  plan->model = "add";
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = "n";
  symbol->lower = 1;
  symbol->upper = 64;
  plan->symbols.push_back(std::move(symbol));

  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "main";
  entry->inputs.push_back(port("x", 0));
  entry->inputs.push_back(port("y", 1));
  entry->outputs.push_back(port("z", 2));
  entry->register_count = 6;
  entry->buffers = {fb::Buffer(fb::BufferKind_input, 0, 2), fb::Buffer(fb::BufferKind_input, 1, 2),
                    fb::Buffer(fb::BufferKind_output, 0, 2), fb::Buffer(fb::BufferKind_weight, 0, 5),
                    fb::Buffer(fb::BufferKind_arena, 0, 2)};
  for (int64_t most : {8, 64}) {
    auto profile = std::make_unique<fb::ProfileT>();
    profile->maxima = {most};
    profile->arena_size = static_cast<uint64_t>(most) * 4 + 64;
    profile->offsets = {0, 0, 0, 0, 64};
    profile->capacities = {0, 0, 0, 0, static_cast<uint64_t>(most) * 4};
    profile->lower_bound = static_cast<uint64_t>(most) * 4;
    entry->profiles.push_back(std::move(profile));
  }
  entry->dispatches.push_back(dispatch({0, 1, 4}));
  entry->dispatches.push_back(dispatch({4, 3, 2}));
  entry->prologue = {instruction(fb::Opcode_const_i64, 1, 0, 0, 4), instruction(fb::Opcode_mul, 2, 0, 1),
                     instruction(fb::Opcode_const_i64, 3, 0, 0, 1), instruction(fb::Opcode_const_i64, 4, 0, 0, 8),
                     instruction(fb::Opcode_const_i64, 5, 0, 0, 256)};
  entry->body = {instruction(fb::Opcode_dispatch, 0, 0, 0), instruction(fb::Opcode_dispatch, 0, 1, 0)};
  plan->entries.push_back(std::move(entry));

  auto weight = std::make_unique<fb::WeightT>();
  weight->name = "w";
  weight->section = 1;
  weight->size = 256;
  weight->type = fb::ElementType_f32;
  plan->weights.push_back(std::move(weight));
  auto hashes = std::make_unique<fb::WeightHashesT>();
  hashes->section = 1;
  hashes->hashes.resize(32);
  std::vector<uint8_t> bytes = addSections()[1].bytes;
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  hash.finish(hashes->hashes.data());
  plan->weight_hashes.push_back(std::move(hashes));

  for (const char *name : {"add", "fail", "chain", "number", "halve"}) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = name;
    kernel->summary = "test";
    plan->kernels.push_back(std::move(kernel));
  }
  auto variant = std::make_unique<fb::VariantT>();
  variant->name = "base";
#if defined(__aarch64__)
  variant->machine = fb::Machine_aarch64;
#else
  variant->machine = fb::Machine_x86_64;
#endif
  variant->kernel_abi = STINT_KERNEL_ABI_VERSION;
  variant->section = 0;
  variant->entries = {0, 1024, 2048, 3072, 4096};
  variant->scratch = 256;
  plan->variants.push_back(std::move(variant));
  plan->nodes = {"node_0"};
  plan->messages = {"n must be even"};
  return plan;
}

std::vector<SectionBytes> addSections() {
  std::vector<uint8_t> weights(256);
  for (int i = 0; i < 64; ++i) {
    float value = static_cast<float>(i);
    std::memcpy(weights.data() + 4 * i, &value, 4);
  }
  return {{STINT_SECTION_CODE, kernelCode()}, {STINT_SECTION_WEIGHTS, std::move(weights)}};
}

std::vector<uint8_t> packPlan(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::vector<uint8_t> makeFile(const std::vector<uint8_t> &flatbuffer, const std::vector<SectionBytes> &sections) {
  stint_file_header header = {};
  std::memcpy(header.magic, STINT_FILE_MAGIC, 8);
  header.format_major = STINT_PLAN_FORMAT_MAJOR;
  header.format_minor = STINT_PLAN_FORMAT_MINOR;
  header.section_count = static_cast<uint32_t>(sections.size());
  header.section_table_offset = sizeof(header);
  header.plan_offset = sizeof(header) + sections.size() * sizeof(stint_section);
  header.plan_size = flatbuffer.size();
  std::vector<uint8_t> file(header.plan_offset);
  file.insert(file.end(), flatbuffer.begin(), flatbuffer.end());
  for (size_t i = 0; i < sections.size(); ++i) {
    stint_section section = {};
    section.kind = sections[i].kind;
    section.offset = (file.size() + STINT_SECTION_ALIGNMENT - 1) / STINT_SECTION_ALIGNMENT * STINT_SECTION_ALIGNMENT;
    section.size = sections[i].bytes.size();
    if (section.kind != STINT_SECTION_WEIGHTS) {
      Sha256 hash;
      hash.update(sections[i].bytes.data(), section.size);
      hash.finish(section.hash);
    }
    std::memcpy(file.data() + sizeof(header) + i * sizeof(section), &section, sizeof(section));
    file.resize(section.offset);
    file.insert(file.end(), sections[i].bytes.begin(), sections[i].bytes.end());
  }
  header.file_size = file.size();
  std::memcpy(file.data(), &header, sizeof(header));
  rehash(&file);
  return file;
}

void rehash(std::vector<uint8_t> *file) {
  stint_file_header header;
  if (file->size() < sizeof(header))
    return;
  std::memcpy(&header, file->data(), sizeof(header));
  uint64_t table = header.section_count * sizeof(stint_section);
  if (header.plan_offset > file->size() || header.plan_size > file->size() - header.plan_offset ||
      table > file->size() - sizeof(header))
    return; // nothing to hash: the runtime has to find that out itself
  Sha256 plan, root;
  plan.update(file->data() + header.plan_offset, header.plan_size);
  plan.finish(header.plan_hash);
  std::memset(header.root_hash, 0, 32);
  root.update(&header, sizeof(header));
  root.update(file->data() + sizeof(header), table);
  root.finish(header.root_hash);
  std::memcpy(file->data(), &header, sizeof(header));
}

Opened::Opened(const std::vector<uint8_t> &file, const stint_model_options *options) : bytes(file) {
  status = stint_model_open_memory(bytes.data(), bytes.size(), options, &model);
}

std::string text(const stint_status &status, const stint_model *model) {
  char buffer[512];
  stint_status_format(&status, model, buffer, sizeof(buffer));
  return buffer;
}

} // namespace stint::test
