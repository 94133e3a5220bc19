// One case per opcode. Division rounds towards minus infinity (floor) or plus
// infinity (ceil), whatever the signs.
#include "runtime/core/machine.h"

#include "runtime/base/arithmetic.h"

namespace stint {
namespace {

// Quotient and remainder with the remainder's sign that of the divisor.
bool floorDivide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder) {
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  *quotient = a / b;
  *remainder = a % b;
  if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
    --*quotient;
    *remainder += b;
  }
  return true;
}

} // namespace

Status executeRegister(const Plan &plan, const Instruction &in, int64_t *registers) {
  // const_i64 and check have fields that are no registers.
  bool unary = in.opcode == Opcode::check, none = in.opcode == Opcode::constI64;
  int64_t a = none ? 0 : registers[in.a];
  int64_t b = none || unary ? 0 : registers[in.b];
  int64_t rest = 0, result = 0;
  bool good = true;
  switch (in.opcode) {
  case Opcode::constI64:
    result = in.imm;
    break;
  case Opcode::add:
    good = checkedAdd(a, b, &result);
    break;
  case Opcode::sub:
    good = checkedSub(a, b, &result);
    break;
  case Opcode::mul:
    good = checkedMul(a, b, &result);
    break;
  case Opcode::floorDiv:
    good = floorDivide(a, b, &result, &rest);
    break;
  case Opcode::ceilDiv:
    good = floorDivide(a, b, &result, &rest);
    result += rest != 0; // can't overflow: |result| is at most |a| / 2 then
    break;
  case Opcode::mod:
    good = floorDivide(a, b, &rest, &result);
    break;
  case Opcode::min:
    result = a < b ? a : b;
    break;
  case Opcode::max:
    result = a > b ? a : b;
    break;
  case Opcode::equal:
    result = a == b;
    break;
  case Opcode::less:
    result = a < b;
    break;
  case Opcode::check:
    return a != 0 ? success() : failure(STINT_STATUS_SHAPE_MISMATCH, plan.messages[static_cast<size_t>(in.imm)]);
  default:
    return malformed("opcode %a is no register instruction", static_cast<int64_t>(in.opcode));
  }
  if (!good)
    return failure(STINT_STATUS_OVERFLOW,
                   "sizes computed from the inputs' shapes don't fit: opcode "
                   "%a",
                   static_cast<int64_t>(in.opcode));
  registers[in.dst] = result;
  return success();
}

Status runPrologue(const Plan &plan, const Entry &entry, int64_t *registers, bool checked) {
  for (uint32_t i = 0; i < entry.prologue.size; ++i) {
    if (!checked && entry.prologue[i].opcode == Opcode::check)
      continue;
    Status status = executeRegister(plan, entry.prologue[i], registers);
    if (!status.ok())
      return status.about(STINT_OBJECT_INSTRUCTION, i);
  }
  return success();
}

void findTargets(Span<const Instruction> body, uint32_t *targets) {
  uint32_t stack[maxNesting] = {}, depth = 0;
  for (uint32_t i = 0; i < body.size; ++i) {
    targets[i] = i;
    switch (body[i].opcode) {
    case Opcode::if_:
    case Opcode::loop:
      stack[depth++] = i;
      break;
    case Opcode::else_:
      targets[stack[depth - 1]] = i;
      stack[depth - 1] = i;
      break;
    case Opcode::end: {
      uint32_t opener = stack[--depth];
      targets[opener] = i;
      if (body[opener].opcode == Opcode::loop)
        targets[i] = opener;
      break;
    }
    default:
      break;
    }
  }
}

} // namespace stint
