// Damaged and hostile plans: refused, or run unharmed on the null device. Run
// under the address sanitizer (preset asan), these tests are the proof that
// the reader stays inside its buffer.
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace stint;
using namespace stint::test;

namespace {

// Opens, and if that works asks every question and runs without code.
int tryPlan(const std::vector<uint8_t> &file) {
  stint_model_options options = {};
  options.size = sizeof(options);
  options.variant = "none";
  options.verify = STINT_VERIFY_FULL;
  Opened opened(file, &options);
  stint_model *model = opened.model;
  if (!model) {
    EXPECT_NE(opened.status.code, STINT_OK);
    EXPECT_FALSE(text(opened.status).empty());
    return opened.status.code;
  }
  for (uint32_t e = 0; e < stint_model_entry_count(model); ++e) {
    stint_model_entry_name(model, e);
    for (uint32_t d = 0; d < stint_model_dispatch_count(model, e); ++d) {
      stint_model_dispatch_kernel(model, e, d);
      stint_model_dispatch_node(model, e, d, 0);
    }
    stint_session_options session_options = {};
    session_options.size = sizeof(session_options);
    session_options.device = "null";
    session_options.entry = e;
    size_t bytes = 0;
    stint_session_size(model, &session_options, &bytes);
    if (bytes > 1 << 24)
      continue; // a sound plan that is merely large
    stint_session *session = nullptr;
    stint_session_create(model, &session_options, &session);
    int64_t dims[STINT_MAX_RANK] = {4, 4, 4, 4, 4, 4, 4, 4};
    for (uint32_t i = 0; session && i < stint_model_input_count(model, e); ++i) {
      stint_port_info info = {};
      info.size = sizeof(info);
      EXPECT_OK(stint_model_input(model, e, i, &info));
      stint_session_set_input_shape(session, i, info.rank, dims);
    }
    stint_run_options run = {};
    run.size = sizeof(run);
    run.deadline_ns = stint_clock_ns() + 20000000;
    if (session)
      text(stint_session_run(session, &run), model);
    stint_session_destroy(session);
  }
  return STINT_OK;
}

// A plan with everything in it: control flow, copies, loads, two variants.
std::vector<uint8_t> richFile() {
  auto plan = addPlan();
  fb::EntryT &entry = *plan->entries[0];
  entry.register_count = 8;
  entry.body = {instruction(fb::Opcode_loop, 6, 3, 0),    instruction(fb::Opcode_dispatch, 0, 0, 0),
                instruction(fb::Opcode_if_, 0, 3, 0),     instruction(fb::Opcode_copy, 2, 2, 4),
                instruction(fb::Opcode_else_, 0, 0, 0),   instruction(fb::Opcode_load_i64, 7, 3, 0, 3),
                instruction(fb::Opcode_end_, 0, 0, 0),    instruction(fb::Opcode_end_, 0, 0, 0),
                instruction(fb::Opcode_dispatch, 0, 1, 0)};
  plan->variants.push_back(std::make_unique<fb::VariantT>(*plan->variants[0]));
  plan->variants[1]->name = "more";
  plan->variants[1]->features = {1, 2};
  // A small file: the tests below try every byte of it.
  std::vector<SectionBytes> sections = addSections();
  return makeFile(packPlan(*plan), sections);
}

uint64_t headerEnd(const std::vector<uint8_t> &file) {
  stint_file_header header;
  std::memcpy(&header, file.data(), sizeof(header));
  return header.plan_offset + header.plan_size;
}

} // namespace

TEST(Verifier, TheUndamagedPlanOpens) { EXPECT_EQ(tryPlan(richFile()), STINT_OK); }

TEST(Verifier, TruncatedAnywhereIsRefused) {
  std::vector<uint8_t> file = richFile();
  uint64_t end = headerEnd(file);
  for (size_t length = 0; length < file.size(); length += length < end ? 1 : 997)
    EXPECT_NE(tryPlan({file.begin(), file.begin() + static_cast<long>(length)}), STINT_OK) << length;
}

TEST(Verifier, AnyByteFlippedIsRefused) {
  std::vector<uint8_t> file = richFile();
  uint64_t end = headerEnd(file);
  for (size_t i = 0; i < end; ++i) {
    file[i] ^= 0x40;
    EXPECT_NE(tryPlan(file), STINT_OK) << i;
    file[i] ^= 0x40;
  }
  // Weights are checked by verify full.
  file[file.size() - 1] ^= 1;
  EXPECT_EQ(tryPlan(file), STINT_STATUS_MALFORMED);
}

TEST(Verifier, FlippedBehindRightHashesNeverHarms) {
  const std::vector<uint8_t> file = richFile();
  uint64_t end = headerEnd(file);
  int refused = 0;
  for (size_t i = 0; i < end; ++i)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> changed = file;
      if (changed[i] == value)
        continue;
      changed[i] = value;
      rehash(&changed);
      refused += tryPlan(changed) != STINT_OK;
    }
  EXPECT_GT(refused, 1000); // most of a plan's bytes mean something
}

TEST(Verifier, TruncatedFlatbufferBehindRightHashesIsRefused) {
  auto plan = addPlan();
  std::vector<uint8_t> flatbuffer = packPlan(*plan);
  // The last bytes may be padding.
  for (size_t length = 0; length + 4 < flatbuffer.size(); ++length)
    EXPECT_NE(tryPlan(makeFile({flatbuffer.begin(), flatbuffer.begin() + static_cast<long>(length)}, addSections())),
              STINT_OK)
        << length;
}

namespace {
struct Case {
  const char *name;
  void (*damage)(fb::PlanT &plan);
};
} // namespace

class Semantics : public testing::TestWithParam<Case> {};

// Sound flatbuffers that mean nothing: each rule of the verifier.
TEST_P(Semantics, IsRefused) {
  auto plan = addPlan();
  GetParam().damage(*plan);
  Opened opened(*plan, addSections());
  EXPECT_EQ(opened.model, nullptr);
  EXPECT_TRUE(opened.status.code == STINT_STATUS_MALFORMED || opened.status.code == STINT_STATUS_UNSUPPORTED)
      << text(opened.status);
}

static fb::EntryT &entryOf(fb::PlanT &p) { return *p.entries[0]; }
static void body(fb::PlanT &p, std::vector<fb::Instruction> instructions) { entryOf(p).body = std::move(instructions); }

static const Case cases[] = {
    {"SymbolBounds", [](fb::PlanT &p) { p.symbols[0]->lower = 65; }},
    {"SymbolNegative", [](fb::PlanT &p) { p.symbols[0]->lower = -1; }},
    {"NoEntry", [](fb::PlanT &p) { p.entries.clear(); }},
    {"FewRegisters", [](fb::PlanT &p) { entryOf(p).register_count = 0; }},
    {"ManyRegisters",
     [](fb::PlanT &p) { entryOf(p).register_count = 0xffffffff; }},
    {"PortBuffer", [](fb::PlanT &p) { entryOf(p).inputs[0]->buffer = 99; }},
    {"PortOfAnother", [](fb::PlanT &p) { entryOf(p).inputs[0]->buffer = 1; }},
    {"PortType",
     [](fb::PlanT &p) { entryOf(p).inputs[0]->type = fb::ElementType_string; }},
    {"PortRank",
     [](fb::PlanT &p) { entryOf(p).inputs[0]->dims.resize(9, fb::Dim(0, 0)); }},
    {"DimSymbol",
     [](fb::PlanT &p) { entryOf(p).inputs[0]->dims = {fb::Dim(1, 0)}; }},
    {"DimNegativeSymbol",
     [](fb::PlanT &p) { entryOf(p).inputs[0]->dims = {fb::Dim(-2, 0)}; }},
    {"DimRegister",
     [](fb::PlanT &p) { entryOf(p).outputs[0]->dims = {fb::Dim(0, 6)}; }},
    {"BufferWeight",
     [](fb::PlanT &p) {
       entryOf(p).buffers[3] = fb::Buffer(fb::BufferKind_weight, 1, 5);
     }},
    {"BufferState",
     [](fb::PlanT &p) {
       entryOf(p).buffers[4] = fb::Buffer(fb::BufferKind_state, 0, 2);
     }},
    {"BufferRegister",
     [](fb::PlanT &p) {
       entryOf(p).buffers[4] = fb::Buffer(fb::BufferKind_arena, 0, 6);
     }},
    {"NoProfile", [](fb::PlanT &p) { entryOf(p).profiles.clear(); }},
    {"ProfileOutside",
     [](fb::PlanT &p) { entryOf(p).profiles[0]->capacities[4] = 33; }},
    {"ProfileOverflow",
     [](fb::PlanT &p) {
       entryOf(p).profiles[0]->offsets[4] = 0xffffffffffffffc0ull;
     }},
    {"ProfileMisaligned",
     [](fb::PlanT &p) { entryOf(p).profiles[0]->offsets[4] = 8; }},
    {"ProfileShort",
     [](fb::PlanT &p) { entryOf(p).profiles[0]->offsets.pop_back(); }},
    {"ProfileSymbols",
     [](fb::PlanT &p) { entryOf(p).profiles[1]->maxima.clear(); }},
    {"DispatchKernel",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->kernel = 5; }},
    {"DispatchBuffer",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->buffers[1] = 5; }},
    {"DispatchWritesWeight",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->buffers[2] = 3; }},
    {"DispatchWritesInput",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->buffers[2] = 0; }},
    {"DispatchResults",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->result_count = 4; }},
    {"DispatchGrid",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->grid.pop_back(); }},
    {"DispatchTile",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->tile[0] = 6; }},
    {"DispatchDims",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->dims[0] = 6; }},
    {"DispatchNode",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->nodes[0] = 1; }},
    {"DispatchFlops",
     [](fb::PlanT &p) { entryOf(p).dispatches[0]->flops_reg = 6; }},
    {"PrologueDispatch",
     [](fb::PlanT &p) {
       entryOf(p).prologue = {instruction(fb::Opcode_dispatch, 0, 0, 0)};
     }},
    {"PrologueSetsSymbol",
     [](fb::PlanT &p) {
       entryOf(p).prologue = {instruction(fb::Opcode_const_i64, 0, 0, 0, 1)};
     }},
    {"UnknownOpcode",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode(99), 0, 0, 0)}); }},
    {"RegisterDst",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode_add, 6, 0, 0)}); }},
    {"RegisterB",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode_add, 1, 0, 6)}); }},
    {"CheckMessage",
     [](fb::PlanT &p) {
       body(p, {instruction(fb::Opcode_check, 0, 0, 0, 1)});
     }},
    {"BodyDispatch",
     [](fb::PlanT &p) {
       body(p, {instruction(fb::Opcode_dispatch, 0, 2, 0)});
     }},
    {"CopyToWeight",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode_copy, 2, 3, 4)}); }},
    {"LoadNegative",
     [](fb::PlanT &p) {
       body(p, {instruction(fb::Opcode_load_i64, 1, 0, 0, -1)});
     }},
    {"Unclosed",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode_if_, 0, 0, 0)}); }},
    {"UnopenedEnd",
     [](fb::PlanT &p) { body(p, {instruction(fb::Opcode_end_, 0, 0, 0)}); }},
    {"ElseOfLoop",
     [](fb::PlanT &p) {
       body(p, {instruction(fb::Opcode_loop, 1, 0, 0),
                instruction(fb::Opcode_else_, 0, 0, 0),
                instruction(fb::Opcode_end_, 0, 0, 0)});
     }},
    {"TwoElses",
     [](fb::PlanT &p) {
       body(p, {instruction(fb::Opcode_if_, 0, 0, 0),
                instruction(fb::Opcode_else_, 0, 0, 0),
                instruction(fb::Opcode_else_, 0, 0, 0),
                instruction(fb::Opcode_end_, 0, 0, 0)});
     }},
    {"DeepNesting",
     [](fb::PlanT &p) {
       std::vector<fb::Instruction> deep(100,
                                         instruction(fb::Opcode_if_, 0, 0, 0));
       deep.resize(200, instruction(fb::Opcode_end_, 0, 0, 0));
       body(p, deep);
     }},
    {"WeightSection", [](fb::PlanT &p) { p.weights[0]->section = 2; }},
    {"WeightInCode", [](fb::PlanT &p) { p.weights[0]->section = 0; }},
    {"WeightOutside", [](fb::PlanT &p) { p.weights[0]->offset = 64; }},
    {"WeightMisaligned",
     [](fb::PlanT &p) {
       p.weights[0]->offset = 4;
       p.weights[0]->size = 4;
     }},
    {"WeightHashes",
     [](fb::PlanT &p) { p.weight_hashes[0]->hashes.pop_back(); }},
    {"WeightHashesSection",
     [](fb::PlanT &p) { p.weight_hashes[0]->section = 0; }},
    {"KernelHash", [](fb::PlanT &p) { p.kernels[0]->hash = {1, 2}; }},
    {"VariantSection", [](fb::PlanT &p) { p.variants[0]->section = 1; }},
    {"VariantEntries", [](fb::PlanT &p) { p.variants[0]->entries.pop_back(); }},
    {"VariantEntryOutside",
     [](fb::PlanT &p) { p.variants[0]->entries[1] = 1 << 20; }},
    {"VariantScratch",
     [](fb::PlanT &p) { p.variants[0]->scratch = ~uint64_t(0); }},
};

INSTANTIATE_TEST_SUITE_P(Verifier, Semantics, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });
