// The runtime's flatbuffer reader against the official library: the same plan
// read by both is the same, field by field.
#include "plan_builder.h"

#include "runtime/plan/plan.h"
#include "runtime/plan/pool.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace stint;
using namespace stint::test;

namespace {

template <typename T, typename U> void expectSame(Span<const T> ours, const std::vector<U> &theirs) {
  ASSERT_EQ(ours.size, theirs.size());
  for (size_t i = 0; i < theirs.size(); ++i)
    EXPECT_EQ(ours[i], static_cast<T>(theirs[i]));
}

void expectSame(const Port &ours, const fb::PortT &theirs) {
  EXPECT_STREQ(ours.name, theirs.name.c_str());
  EXPECT_EQ(ours.type, theirs.type);
  EXPECT_EQ(ours.buffer, theirs.buffer);
  ASSERT_EQ(ours.dims.size, theirs.dims.size());
  for (size_t i = 0; i < theirs.dims.size(); ++i) {
    EXPECT_EQ(ours.dims[i].symbol, theirs.dims[i].symbol());
    EXPECT_EQ(ours.dims[i].reg, theirs.dims[i].reg());
  }
}

void expectSame(Span<const Instruction> ours, const std::vector<fb::Instruction> &theirs) {
  ASSERT_EQ(ours.size, theirs.size());
  for (size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_EQ(static_cast<int>(ours[i].opcode), static_cast<int>(theirs[i].opcode()));
    EXPECT_EQ(ours[i].dst, theirs[i].dst());
    EXPECT_EQ(ours[i].a, theirs[i].a());
    EXPECT_EQ(ours[i].b, theirs[i].b());
    EXPECT_EQ(ours[i].imm, theirs[i].imm());
  }
}

void expectSame(const Entry &ours, const fb::EntryT &theirs) {
  EXPECT_STREQ(ours.name, theirs.name.c_str());
  EXPECT_EQ(ours.registerCount, theirs.register_count);
  ASSERT_EQ(ours.inputs.size, theirs.inputs.size());
  for (size_t i = 0; i < theirs.inputs.size(); ++i)
    expectSame(ours.inputs[i], *theirs.inputs[i]);
  ASSERT_EQ(ours.outputs.size, theirs.outputs.size());
  for (size_t i = 0; i < theirs.outputs.size(); ++i)
    expectSame(ours.outputs[i], *theirs.outputs[i]);
  ASSERT_EQ(ours.buffers.size, theirs.buffers.size());
  for (size_t i = 0; i < theirs.buffers.size(); ++i) {
    EXPECT_EQ(static_cast<int>(ours.buffers[i].kind), static_cast<int>(theirs.buffers[i].kind()));
    EXPECT_EQ(ours.buffers[i].index, theirs.buffers[i].index());
    EXPECT_EQ(ours.buffers[i].sizeReg, theirs.buffers[i].size_reg());
  }
  ASSERT_EQ(ours.profiles.size, theirs.profiles.size());
  for (size_t i = 0; i < theirs.profiles.size(); ++i) {
    expectSame(ours.profiles[i].maxima, theirs.profiles[i]->maxima);
    expectSame(ours.profiles[i].offsets, theirs.profiles[i]->offsets);
    expectSame(ours.profiles[i].capacities, theirs.profiles[i]->capacities);
    EXPECT_EQ(ours.profiles[i].arenaSize, theirs.profiles[i]->arena_size);
    EXPECT_EQ(ours.profiles[i].lowerBound, theirs.profiles[i]->lower_bound);
  }
  ASSERT_EQ(ours.dispatches.size, theirs.dispatches.size());
  for (size_t i = 0; i < theirs.dispatches.size(); ++i) {
    const Dispatch &mine = ours.dispatches[i];
    const fb::DispatchT &other = *theirs.dispatches[i];
    EXPECT_EQ(mine.kernel, other.kernel);
    EXPECT_EQ(mine.resultCount, other.result_count);
    EXPECT_EQ(mine.flopsReg, other.flops_reg);
    expectSame(mine.buffers, other.buffers);
    expectSame(mine.dims, other.dims);
    expectSame(mine.grid, other.grid);
    expectSame(mine.tile, other.tile);
    expectSame(mine.nodes, other.nodes);
  }
  expectSame(ours.prologue, theirs.prologue);
  expectSame(ours.body, theirs.body);
}

} // namespace

TEST(Wire, ReadsWhatTheOfficialLibraryWrote) {
  auto theirs = addPlan();
  theirs->entries[0]->dispatches[0]->flops_reg = 2;
  theirs->variants[0]->features = {3, 5};
  theirs->kernels[0]->hash.assign(32, 9);
  AlignedBytes bytes(packPlan(*theirs));
  Pool pool;
  Plan ours;
  EXPECT_OK(decodePlan(bytes.data(), bytes.size(), &pool, &ours).value);
  EXPECT_STREQ(ours.producer, "test");
  EXPECT_STREQ(ours.model, "add");
  ASSERT_EQ(ours.symbols.size, 1u);
  EXPECT_STREQ(ours.symbols[0].name, "n");
  EXPECT_EQ(ours.symbols[0].lower, 1);
  EXPECT_EQ(ours.symbols[0].upper, 64);
  ASSERT_EQ(ours.entries.size, 1u);
  expectSame(ours.entries[0], *theirs->entries[0]);
  ASSERT_EQ(ours.weights.size, 1u);
  EXPECT_STREQ(ours.weights[0].name, "w");
  EXPECT_EQ(ours.weights[0].section, 1u);
  EXPECT_EQ(ours.weights[0].size, 256u);
  EXPECT_EQ(ours.weights[0].type, STINT_F32);
  ASSERT_EQ(ours.weightHashes.size, 1u);
  expectSame(ours.weightHashes[0].hashes, theirs->weight_hashes[0]->hashes);
  ASSERT_EQ(ours.kernels.size, 5u);
  EXPECT_STREQ(ours.kernels[2].name, "chain");
  EXPECT_STREQ(ours.kernels[2].summary, "test");
  expectSame(ours.kernels[0].hash, theirs->kernels[0]->hash);
  ASSERT_EQ(ours.variants.size, 1u);
  EXPECT_STREQ(ours.variants[0].name, "base");
  EXPECT_EQ(ours.variants[0].machine, theirs->variants[0]->machine);
  EXPECT_EQ(ours.variants[0].scratch, 256u);
  expectSame(ours.variants[0].features, theirs->variants[0]->features);
  expectSame(ours.variants[0].entries, theirs->variants[0]->entries);
  ASSERT_EQ(ours.nodes.size, 1u);
  EXPECT_STREQ(ours.nodes[0], "node_0");
  ASSERT_EQ(ours.messages.size, 1u);
  EXPECT_STREQ(ours.messages[0], "n must be even");
}

TEST(Wire, SharedReferencesAreNotPaidForTwice) {
  // A plan whose entries vector refers to one entry a great many times costs
  // far more to decode than its bytes: refused, and quickly.
  flatbuffers::FlatBufferBuilder builder;
  auto plan = addPlan();
  plan->entries[0]->body.assign(20000, instruction(fb::Opcode_const_i64, 1, 0, 0, 1));
  auto entry = fb::Entry::Pack(builder, plan->entries[0].get());
  std::vector<flatbuffers::Offset<fb::Entry>> entries(100000, entry);
  auto vector = builder.CreateVector(entries);
  fb::PlanBuilder root(builder);
  root.add_entries(vector);
  fb::FinishPlanBuffer(builder, root.Finish());
  AlignedBytes bytes({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()});
  Pool pool;
  Plan ours;
  EXPECT_EQ(decodePlan(bytes.data(), bytes.size(), &pool, &ours).value.code, STINT_STATUS_MALFORMED);
}
