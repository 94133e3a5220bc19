// Three kinds of mutation: of the objects of the plan; of aligned numbers in
// the flatbuffer, which are references, counts and fields; of bytes anywhere.
#include "PlanMutator.h"

#include "PlanFile.h"
#include "decoder_plan.h"
#include "plan_generated.h"
#include "runtime/schema/version.h"

#include <cstring>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);

namespace stint::fuzz {
namespace {

namespace fb = ::stint::plan;
using Random = std::minstd_rand;
size_t below(Random &random, size_t count) { return count ? random() % count : 0; }

int64_t number(Random &random, int64_t old) {
  static const int64_t interesting[] = {0,   1,    -1,    2,     3,       4,         8,          64,
                                        256, 1024, 65536, -1024, 1 << 30, INT32_MAX, UINT32_MAX, int64_t(1) << 32,
                                        -2,  7,    31,    32,    33,      INT64_MAX, INT64_MIN,  INT64_MAX / 8};
  auto bits = static_cast<uint64_t>(old);
  switch (below(random, 6)) {
  case 0:
    return static_cast<int64_t>(bits + 1);
  case 1:
    return static_cast<int64_t>(bits - 1);
  case 2:
    return static_cast<int64_t>(below(random, 12));
  case 3:
    return static_cast<int64_t>(bits ^ uint64_t(1) << below(random, 64));
  default:
    return interesting[below(random, std::size(interesting))];
  }
}

class Mutator {
public:
  Mutator(fb::PlanT &plan, Random &random) : plan(plan), random(random) {}

  void once() {
    if (plan.entries.empty())
      plan.entries.push_back(std::make_unique<fb::EntryT>());
    fb::EntryT &entry = *plan.entries[below(random, plan.entries.size())];
    switch (below(random, 17)) {
    case 0:
      if (auto *symbol = change(plan.symbols, [](fb::SymbolT &s) { return s; }))
        value(below(random, 2) ? symbol->lower : symbol->upper);
      break;
    case 1:
      port(entry.inputs);
      break;
    case 2:
      port(entry.outputs);
      break;
    case 3:
      if (below(random, 2))
        value(entry.register_count);
      else if (auto *state = change(entry.states, [](fb::StateT &s) { return s; })) {
        if (below(random, 2))
          value(state->size);
        else if (below(random, 4))
          element(state->dims);
        else
          state->type = static_cast<fb::ElementType>(below(random, 28));
      }
      break;
    case 4:
      buffer(entry);
      break;
    case 5:
    case 6:
      profile(entry);
      break;
    case 7:
    case 8:
      dispatch(entry);
      break;
    case 9:
    case 10:
      instruction(entry.prologue, entry.register_count);
      break;
    case 11:
    case 12:
      instruction(entry.body, entry.register_count);
      break;
    case 13:
      weight();
      break;
    case 14:
      code();
      break;
    case 15:
      decoder();
      break;
    default:
      if (below(random, 4) == 0)
        change(plan.entries, [](fb::EntryT &e) { return e; });
      else if (below(random, 2))
        change(plan.nodes);
      else
        change(plan.messages);
    }
  }

private:
  template <typename T> void value(T &number) { number = static_cast<T>(fuzz::number(random, int64_t(number))); }

  // Leaves out, repeats or exchanges an element now and then; one to change.
  template <typename T> T *change(std::vector<T> &list) {
    if (list.empty()) {
      if (below(random, 4) == 0)
        list.push_back(T());
      return nullptr;
    }
    size_t at = below(random, list.size());
    switch (below(random, 8)) {
    case 0:
      list.erase(list.begin() + static_cast<ptrdiff_t>(at));
      return nullptr;
    case 1: {
      T copy = list[at];
      list.insert(list.begin() + static_cast<ptrdiff_t>(below(random, list.size() + 1)), copy);
      return nullptr;
    }
    case 2:
      std::swap(list[at], list[below(random, list.size())]);
      return nullptr;
    default:
      return &list[at];
    }
  }
  template <typename T, typename Copy> T *change(std::vector<std::unique_ptr<T>> &list, Copy copy) {
    if (list.empty()) {
      if (below(random, 4) == 0)
        list.push_back(std::make_unique<T>());
      return nullptr;
    }
    size_t at = below(random, list.size());
    switch (below(random, 8)) {
    case 0:
      list.erase(list.begin() + static_cast<ptrdiff_t>(at));
      return nullptr;
    case 1:
      list.insert(list.begin() + static_cast<ptrdiff_t>(at), std::make_unique<T>(copy(*list[at])));
      return nullptr;
    case 2:
      std::swap(list[at], list[below(random, list.size())]);
      return nullptr;
    default:
      return list[at].get();
    }
  }
  template <typename T> void element(std::vector<T> &list) {
    if (T *number = change(list))
      value(*number);
  }

  void port(std::vector<std::unique_ptr<fb::PortT>> &ports) {
    fb::PortT *port = change(ports, [](fb::PortT &p) { return p; });
    if (!port)
      return;
    switch (below(random, 3)) {
    case 0:
      port->type = static_cast<fb::ElementType>(below(random, 28));
      break;
    case 1:
      value(port->buffer);
      break;
    default:
      if (fb::Dim *dim = change(port->dims)) {
        auto symbol = dim->symbol();
        auto reg = dim->reg();
        if (below(random, 2))
          value(symbol);
        else
          value(reg);
        *dim = fb::Dim(symbol, reg);
      }
    }
  }

  // Profiles have an offset and a capacity per buffer: they follow.
  void buffer(fb::EntryT &entry) {
    if (fb::Buffer *buffer = change(entry.buffers)) {
      auto kind = buffer->kind();
      auto index = buffer->index();
      auto size = buffer->size_reg();
      switch (below(random, 3)) {
      case 0:
        kind = static_cast<fb::BufferKind>(below(random, 6));
        break;
      case 1:
        value(index);
        break;
      default:
        size = static_cast<uint32_t>(below(random, entry.register_count + 1));
      }
      *buffer = fb::Buffer(kind, index, size);
    }
    for (auto &profile : entry.profiles)
      if (entry.buffers.size() < 64 && below(random, 8)) {
        profile->offsets.resize(entry.buffers.size());
        profile->capacities.resize(entry.buffers.size());
      }
  }

  void profile(fb::EntryT &entry) {
    fb::ProfileT *profile = change(entry.profiles, [](fb::ProfileT &p) { return p; });
    if (!profile)
      return;
    switch (below(random, 4)) {
    case 0:
      element(profile->maxima);
      break;
    case 1:
      value(profile->arena_size);
      break;
    case 2:
      element(profile->offsets);
      break;
    default:
      element(profile->capacities);
    }
  }

  void dispatch(fb::EntryT &entry) {
    fb::DispatchT *dispatch = change(entry.dispatches, [](fb::DispatchT &d) { return d; });
    if (!dispatch)
      return;
    switch (below(random, 8)) {
    case 0:
      value(dispatch->kernel);
      break;
    case 1:
      value(dispatch->result_count);
      break;
    case 2:
      element(dispatch->dims);
      break;
    case 3:
      element(dispatch->grid);
      break;
    case 4:
      element(dispatch->tile);
      break;
    case 5:
      element(dispatch->nodes);
      break;
    case 6:
      value(dispatch->flops_reg);
      break;
    default:
      element(dispatch->buffers);
    }
  }

  void instruction(std::vector<fb::Instruction> &program, uint32_t registers) {
    static const uint8_t opcodes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 32, 33, 34, 35, 48, 49, 50, 51, 52};
    auto pick = [&](uint32_t &reg) {
      if (below(random, 4))
        reg = static_cast<uint32_t>(below(random, registers));
      else
        value(reg);
    };
    fb::Instruction *in = change(program);
    if (!in)
      return;
    auto opcode = in->opcode();
    uint32_t dst = in->dst(), a = in->a(), b = in->b();
    int64_t imm = in->imm();
    switch (below(random, 5)) {
    case 0:
      opcode = static_cast<fb::Opcode>(opcodes[below(random, std::size(opcodes))]);
      break;
    case 1:
      pick(dst);
      break;
    case 2:
      pick(a);
      break;
    case 3:
      pick(b);
      break;
    default:
      value(imm);
    }
    *in = fb::Instruction(opcode, dst, a, b, imm);
  }

  void weight() {
    if (below(random, 4) == 0) {
      if (auto *hashes = change(plan.weight_hashes, [](fb::WeightHashesT &h) { return h; })) {
        if (below(random, 2))
          value(hashes->section);
        else
          element(hashes->hashes);
      }
    } else if (auto *weight = change(plan.weights, [](fb::WeightT &w) { return w; })) {
      switch (below(random, 4)) {
      case 0:
        value(weight->section);
        break;
      case 1:
        value(weight->offset);
        break;
      case 2:
        weight->offset = below(random, 64) * 64;
        break;
      default:
        value(weight->size);
      }
    }
  }

  void decoder() {
    if (!plan.decoder)
      plan.decoder = std::make_unique<fb::DecoderT>();
    else if (below(random, 16) == 0)
      return plan.decoder.reset();
    fb::DecoderT &decoder = *plan.decoder;
    uint32_t *fields[] = {&decoder.entry,      &decoder.token_ids, &decoder.positions, &decoder.sequences,
                          &decoder.pages,      &decoder.rows,      &decoder.logits,    &decoder.page_size,
                          &decoder.page_count, &decoder.context,   &decoder.tokenizer, &decoder.chat};
    value(*fields[below(random, std::size(fields))]);
  }

  void code() {
    if (below(random, 2)) {
      if (auto *kernel = change(plan.kernels, [](fb::KernelT &k) { return k; })) {
        if (below(random, 2))
          kernel->hash.resize(kernel->hash.empty() ? 32 : 0);
        else
          element(kernel->hash);
      }
      return;
    }
    auto *variant = change(plan.variants, [](fb::VariantT &v) { return v; });
    if (!variant)
      return;
    switch (below(random, 6)) {
    case 0:
      variant->machine = static_cast<fb::Machine>(below(random, 4));
      break;
    case 1:
      element(variant->features);
      break;
    case 2:
      value(variant->kernel_abi);
      break;
    case 3:
      value(variant->section);
      break;
    case 4:
      value(variant->scratch);
      break;
    default:
      element(variant->entries);
    }
  }

  fb::PlanT &plan;
  Random &random;
};

// Changes the plan's objects; empty if the flatbuffer isn't sound.
std::vector<uint8_t> mutateObjects(const uint8_t *data, size_t size, Random &random) {
  flatbuffers::Verifier verifier(data, size);
  if (!fb::VerifyPlanBuffer(verifier))
    return {};
  std::unique_ptr<fb::PlanT> plan(fb::UnPackPlan(data));
  Mutator mutator(*plan, random);
  for (size_t i = 1 + below(random, 4); i > 0; --i)
    mutator.once();
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, plan.get()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace

size_t mutatePlan(uint8_t *data, size_t size, size_t limit, unsigned seed) {
  Random random(seed);
  Layout layout;
  size_t kind = below(random, 8);
  bool whole = readLayout(data, size, layout);
  if (whole && kind < 4) {
    std::vector<uint8_t> plan = mutateObjects(data + layout.plan, layout.planEnd - layout.plan, random);
    size_t tail = size - layout.tail, changed = layout.plan + plan.size() + tail;
    if (!plan.empty() && changed <= limit) {
      std::memmove(data + layout.plan + plan.size(), data + layout.tail, tail);
      std::memcpy(data + layout.plan, plan.data(), plan.size());
      size = changed;
      resize(data, size, plan.size());
    }
  } else if (whole && kind < 6 && layout.planEnd - layout.plan >= 16) {
    for (size_t i = 1 + below(random, 3); i > 0; --i) {
      size_t width = size_t(1) << below(random, 4);
      size_t at = layout.plan + below(random, (layout.planEnd - layout.plan - 8) / width) * width;
      int64_t value = 0;
      std::memcpy(&value, data + at, width);
      value = number(random, value);
      std::memcpy(data + at, &value, width);
    }
  } else if (whole && kind == 6) {
    // Header and section table.
    size_t at = below(random, layout.tableEnd / 4) * 4, width = below(random, 2) ? 4 : 8;
    int64_t value = 0;
    if (at + width <= layout.tableEnd) {
      std::memcpy(&value, data + at, width);
      value = number(random, value);
      std::memcpy(data + at, &value, width);
    }
  } else {
    size = LLVMFuzzerMutate(data, size, limit);
  }
  if (below(random, 8))
    rehash(data, size);
  return size;
}

std::vector<uint8_t> firstPlan() {
  fb::PlanT plan;
  plan.producer = "fuzz";
  plan.model = "first";
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = "n";
  symbol->lower = 0;
  symbol->upper = 16;
  plan.symbols.push_back(std::move(symbol));
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "main";
  for (uint32_t i = 0; i < 2; ++i) {
    auto port = std::make_unique<fb::PortT>();
    port->name = i ? "y" : "x";
    port->type = fb::ElementType_f32;
    port->dims = {fb::Dim(0, 0)};
    port->buffer = i;
    (i ? entry->outputs : entry->inputs).push_back(std::move(port));
  }
  // 0 n, 1 four, 2 bytes of [n], 3 one, 4 tile, 5 bytes of weights, 6 counter,
  // 7 value read from memory, 8 condition
  entry->register_count = 9;
  entry->buffers = {fb::Buffer(fb::BufferKind_input, 0, 2),  fb::Buffer(fb::BufferKind_output, 0, 2),
                    fb::Buffer(fb::BufferKind_weight, 0, 5), fb::Buffer(fb::BufferKind_arena, 0, 2),
                    fb::Buffer(fb::BufferKind_weight, 1, 5), fb::Buffer(fb::BufferKind_state, 0, 5)};
  entry->states.push_back(std::make_unique<fb::StateT>());
  entry->states[0]->name = "s";
  entry->states[0]->size = 64;
  for (int64_t most : {4, 16}) {
    auto profile = std::make_unique<fb::ProfileT>();
    profile->maxima = {most};
    profile->arena_size = static_cast<uint64_t>(most) * 4 + 64;
    profile->offsets = {0, 0, 0, 64, 0, 0};
    profile->capacities = {0, 0, 0, static_cast<uint64_t>(most) * 4, 0, 0};
    profile->lower_bound = static_cast<uint64_t>(most) * 4;
    entry->profiles.push_back(std::move(profile));
  }
  for (std::vector<uint32_t> buffers : {std::vector<uint32_t>{0, 2, 3}, {3, 2, 1}}) {
    auto dispatch = std::make_unique<fb::DispatchT>();
    dispatch->buffers = buffers;
    dispatch->result_count = 1;
    dispatch->dims = {0};
    dispatch->grid = {0, 3, 3};
    dispatch->tile = {4, 3, 3};
    dispatch->nodes = {0};
    entry->dispatches.push_back(std::move(dispatch));
  }
  entry->prologue = {{fb::Opcode_const_i64, 1, 0, 0, 4},  {fb::Opcode_mul, 2, 0, 1, 0},
                     {fb::Opcode_const_i64, 3, 0, 0, 1},  {fb::Opcode_const_i64, 4, 0, 0, 8},
                     {fb::Opcode_const_i64, 5, 0, 0, 64}, {fb::Opcode_less, 8, 3, 0, 0},
                     {fb::Opcode_check, 0, 3, 0, 0}};
  entry->body = {{fb::Opcode_copy_at, 2, 5, 3, 6}, {fb::Opcode_dispatch, 0, 0, 0, 0}, {fb::Opcode_if_, 0, 8, 0, 0},
                 {fb::Opcode_copy, 2, 1, 3, 0},    {fb::Opcode_else_, 0, 0, 0, 0},    {fb::Opcode_load_i64, 7, 4, 0, 1},
                 {fb::Opcode_end_, 0, 0, 0, 0},    {fb::Opcode_loop, 6, 0, 0, 0},     {fb::Opcode_dispatch, 0, 1, 0, 0},
                 {fb::Opcode_end_, 0, 0, 0, 0}};
  plan.entries.push_back(std::move(entry));
  for (uint32_t section : {1, 2}) {
    auto weight = std::make_unique<fb::WeightT>();
    weight->name = "w";
    weight->section = section;
    weight->size = 64;
    weight->type = fb::ElementType_f32;
    plan.weights.push_back(std::move(weight));
  }
  auto hashes = std::make_unique<fb::WeightHashesT>();
  hashes->section = 1;
  hashes->hashes.resize(32);
  plan.weight_hashes.push_back(std::move(hashes));
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = "kernel";
  plan.kernels.push_back(std::move(kernel));
  auto variant = std::make_unique<fb::VariantT>();
  variant->name = "base";
  variant->machine = fb::Machine_x86_64;
  variant->kernel_abi = STINT_KERNEL_ABI_VERSION;
  variant->entries = {0};
  variant->scratch = 64;
  plan.variants.push_back(std::move(variant));
  plan.nodes = {"node"};
  plan.messages = {"n must be even"};
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));
  std::vector<uint8_t> tail(64);
  for (size_t i = 0; i < tail.size(); ++i)
    tail[i] = static_cast<uint8_t>(i % 8 ? 0 : i / 8);
  return compact({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, tail);
}

std::vector<uint8_t> decoderPlan() {
  std::unique_ptr<fb::PlanT> plan = test::decoderPlan({4, 3, 3, 12, 4, 6, 9});
  plan->kernels.resize(1);
  plan->variants[0]->entries = {0};
  plan->entries[0]->dispatches[0]->kernel = 0;
  plan->weights.clear();
  plan->weight_hashes.clear();
  return compact(test::packPlan(*plan), std::vector<uint8_t>(64));
}

} // namespace stint::fuzz
