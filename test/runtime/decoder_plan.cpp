// See decoder_plan.h. Registers: 0 tokens, 1 sequences, 2 rows; the others are
// given out by Registers.
#include "decoder_plan.h"

namespace stint::test {

namespace {

struct Registers {
  fb::EntryT &entry;
  uint32_t next = 3;

  uint32_t constant(int64_t value) {
    entry.prologue.push_back(instruction(fb::Opcode_const_i64, next, 0, 0, value));
    return next++;
  }
  uint32_t product(uint32_t a, uint32_t b) {
    entry.prologue.push_back(instruction(fb::Opcode_mul, next, a, b));
    return next++;
  }
};

void addSymbol(fb::PlanT &plan, const char *name, int64_t lower, int64_t upper) {
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = name;
  symbol->lower = lower;
  symbol->upper = upper;
  plan.symbols.push_back(std::move(symbol));
}

std::unique_ptr<fb::PortT> port(const char *name, fb::ElementType type, uint32_t buffer, std::vector<fb::Dim> dims) {
  auto port = std::make_unique<fb::PortT>();
  port->name = name;
  port->type = type;
  port->dims = std::move(dims);
  port->buffer = buffer;
  return port;
}

} // namespace

std::unique_ptr<fb::PlanT> decoderPlan(const DecoderShape &shape) {
  std::unique_ptr<fb::PlanT> plan = addPlan();
  plan->model = "sum";
  plan->symbols.clear();
  addSymbol(*plan, "tokens", 1, shape.tokens);
  addSymbol(*plan, "sequences", 1, shape.sequences);
  addSymbol(*plan, "logit_rows", 0, shape.rows);
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = "decode";
  plan->kernels.push_back(std::move(kernel));
  plan->variants[0]->entries.push_back(5120);

  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "step";
  Registers registers{*entry};
  uint32_t one = registers.constant(1), four = registers.constant(4), eight = registers.constant(8);
  uint32_t perSequence = registers.constant((shape.context + shape.pageSize - 1) / shape.pageSize);
  uint32_t pageSize = registers.constant(shape.pageSize), vocabulary = registers.constant(shape.vocabulary);
  uint32_t stateBytes = registers.constant(shape.pageCount * shape.pageSize * 4);
  uint32_t idBytes = registers.product(0, eight), listBytes = registers.product(0, four);
  uint32_t pageBytes = registers.product(registers.product(1, perSequence), four);
  uint32_t rowBytes = registers.product(2, four);
  uint32_t logitBytes = registers.product(rowBytes, vocabulary);
  entry->register_count = registers.next;

  const fb::Dim tokens(0, 0), sequences(1, 1), rows(2, 2);
  entry->inputs.push_back(port("input_ids", fb::ElementType_i64, 0, {fb::Dim(-1, one), tokens}));
  entry->inputs.push_back(port("step.positions", fb::ElementType_i32, 1, {tokens}));
  entry->inputs.push_back(port("step.sequences", fb::ElementType_i32, 2, {tokens}));
  entry->inputs.push_back(port("step.pages", fb::ElementType_i32, 3, {sequences, fb::Dim(-1, perSequence)}));
  entry->inputs.push_back(port("step.rows", fb::ElementType_i32, 4, {rows}));
  entry->outputs.push_back(port("logits", fb::ElementType_f32, 6, {rows, fb::Dim(-1, vocabulary)}));
  entry->buffers = {fb::Buffer(fb::BufferKind_input, 0, idBytes),    fb::Buffer(fb::BufferKind_input, 1, listBytes),
                    fb::Buffer(fb::BufferKind_input, 2, listBytes),  fb::Buffer(fb::BufferKind_input, 3, pageBytes),
                    fb::Buffer(fb::BufferKind_input, 4, rowBytes),   fb::Buffer(fb::BufferKind_state, 0, stateBytes),
                    fb::Buffer(fb::BufferKind_output, 0, logitBytes)};
  auto state = std::make_unique<fb::StateT>();
  state->name = "keys";
  state->size = static_cast<uint64_t>(shape.pageCount * shape.pageSize * 4);
  state->type = fb::ElementType_f32;
  state->dims = {shape.pageCount, 1, shape.pageSize, 1};
  entry->states.push_back(std::move(state));
  auto profile = std::make_unique<fb::ProfileT>();
  profile->maxima = {shape.tokens, shape.sequences, shape.rows};
  profile->offsets.resize(7);
  profile->capacities.resize(7);
  entry->profiles.push_back(std::move(profile));
  auto dispatch = std::make_unique<fb::DispatchT>();
  dispatch->kernel = 5;
  dispatch->buffers = {0, 1, 2, 3, 4, 5, 6};
  dispatch->result_count = 2;
  dispatch->dims = {0, perSequence, pageSize, 2, vocabulary};
  dispatch->grid = dispatch->tile = {one, one, one};
  entry->dispatches.push_back(std::move(dispatch));
  entry->body = {instruction(fb::Opcode_dispatch, 0, 0, 0)};
  plan->entries.clear();
  plan->entries.push_back(std::move(entry));

  plan->decoder = std::make_unique<fb::DecoderT>();
  plan->decoder->positions = 1;
  plan->decoder->sequences = 2;
  plan->decoder->pages = 3;
  plan->decoder->rows = 4;
  plan->decoder->page_size = static_cast<uint32_t>(shape.pageSize);
  plan->decoder->page_count = static_cast<uint32_t>(shape.pageCount);
  plan->decoder->context = static_cast<uint32_t>(shape.context);
  return plan;
}

std::vector<uint32_t> decoderSays(std::vector<uint32_t> tokens, uint32_t more, const DecoderShape &shape) {
  for (; more; --more) {
    uint64_t sum = 0;
    for (size_t i = 0; i < tokens.size(); ++i)
      sum += tokens[i] * (i + 1);
    tokens.push_back(uint32_t(sum % uint64_t(shape.vocabulary)));
  }
  return tokens;
}

} // namespace stint::test
