// What must hold of a decoder's step table: ports of the right types and ranks
// whose dimensions are the same symbols, fixed sizes that agree, and states
// made of whole pages.
#include "runtime/plan/plan.h"

namespace stint {
namespace {

// Port `index` of `ports` is of `type`, with `rank` dimensions.
bool isPort(Span<Port> ports, uint32_t index, uint8_t type, uint32_t rank) {
  return index < ports.size && ports[index].type == type && ports[index].dims.size == rank;
}

// The most that a dimension which is a symbol, or fixed in the prologue, may
// be; -1 if it is neither.
int64_t mostOf(const Plan &plan, const Entry &entry, const Dim &dim) {
  if (dim.symbol >= 0)
    return plan.symbols[static_cast<uint32_t>(dim.symbol)].upper;
  int64_t value = -1;
  for (const Instruction &in : entry.prologue)
    if (in.opcode != Opcode::check && in.dst == dim.reg)
      value = in.opcode == Opcode::constI64 ? in.imm : -1;
  return value;
}

} // namespace

Status verifyDecoder(const Plan &plan, const Decoder &decoder, Span<const stint_section> sections) {
  if (decoder.entry >= plan.entries.size)
    return malformed("the decoder is entry %a of %b", decoder.entry, plan.entries.size);
  const Entry &entry = plan.entries[decoder.entry];
  uint32_t lists[] = {decoder.positions, decoder.sequences, decoder.rows};
  bool sound =
      isPort(entry.inputs, decoder.tokenIds, STINT_I64, 2) || isPort(entry.inputs, decoder.tokenIds, STINT_I32, 2);
  for (uint32_t list : lists)
    sound = sound && isPort(entry.inputs, list, STINT_I32, 1);
  sound =
      sound && isPort(entry.inputs, decoder.pages, STINT_I32, 2) && isPort(entry.outputs, decoder.logits, STINT_F32, 2);
  // All of them, each once: nothing else is to be given.
  uint32_t inputs[] = {decoder.tokenIds, decoder.positions, decoder.sequences, decoder.pages, decoder.rows};
  for (uint32_t a : inputs) {
    uint32_t times = 0;
    for (uint32_t b : inputs)
      times += a == b ? 1 : 0;
    sound = sound && times == 1;
  }
  if (!sound || entry.inputs.size != 5 || entry.outputs.size != 1)
    return malformed("the decoder's entry has other inputs than a step table, or other outputs than logits");

  const Port &ids = entry.inputs[decoder.tokenIds], &pages = entry.inputs[decoder.pages];
  int32_t tokens = ids.dims[1].symbol, rows = entry.inputs[decoder.rows].dims[0].symbol;
  if (tokens < 0 || entry.inputs[decoder.positions].dims[0].symbol != tokens ||
      entry.inputs[decoder.sequences].dims[0].symbol != tokens || rows < 0 || rows == tokens ||
      pages.dims[0].symbol < 0 || pages.dims[0].symbol == tokens || pages.dims[0].symbol == rows ||
      entry.outputs[decoder.logits].dims[0].symbol != rows || mostOf(plan, entry, ids.dims[0]) != 1)
    return malformed("the dimensions of the decoder's step table do not belong together");
  if (mostOf(plan, entry, entry.outputs[decoder.logits].dims[1]) < 1)
    return malformed("the decoder's vocabulary has no fixed size");
  uint64_t context = decoder.context, pageSize = decoder.pageSize;
  if (context < 1 || context > INT32_MAX || pageSize < 1 || decoder.pageCount < 1 || decoder.pageCount > INT32_MAX)
    return malformed("the decoder's pages of %a positions do not make a context of %b", decoder.pageSize,
                     decoder.context);
  if (mostOf(plan, entry, pages.dims[1]) != static_cast<int64_t>((context + pageSize - 1) / pageSize))
    return malformed("the decoder's page table does not fit pages of %a positions and a context of %b",
                     decoder.pageSize, decoder.context);
  for (const State &state : entry.states)
    if (state.size % decoder.pageCount != 0)
      return malformed("a state of %a bytes is not made of %b pages", static_cast<int64_t>(state.size),
                       decoder.pageCount);
  if (!decoder.model.empty() && decoder.model.size != 32)
    return malformed("the decoder's model is called by %a bytes, not 32", decoder.model.size);
  uint32_t sectionsOf[] = {decoder.tokenizer, decoder.chat};
  uint32_t kinds[] = {STINT_SECTION_TOKENIZER, STINT_SECTION_CHAT};
  for (int i = 0; i < 2; ++i)
    if (sectionsOf[i] != noSection && (sectionsOf[i] >= sections.size || sections[sectionsOf[i]].kind != kinds[i]))
      return malformed("the decoder's text is in section %a of %b", sectionsOf[i], sections.size);
  return success();
}

} // namespace stint
