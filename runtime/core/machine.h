// The register instructions of a plan (plan.fbs, enum Opcode): checked int64
// arithmetic.
#ifndef STINT_RUNTIME_CORE_MACHINE_H
#define STINT_RUNTIME_CORE_MACHINE_H

#include "runtime/plan/plan.h"

namespace stint {

// Executes one instruction below Opcode::dispatch.
Status executeRegister(const Plan &plan, const Instruction &instruction, int64_t *registers);

// Executes an entry's prologue; the symbols' registers are set. Sizes at joint
// bounds of the symbols are computed without its checks: the shapes there may
// be none that the model takes.
Status runPrologue(const Plan &plan, const Entry &entry, int64_t *registers, bool checked = true);

// Where if, else, loop and end of a verified body go on: `targets` has one
// index per instruction. if_: its else_ or end_; else_ and loop: its end_;
// end_: its loop, or itself for an if.
void findTargets(Span<const Instruction> body, uint32_t *targets);

} // namespace stint

#endif
