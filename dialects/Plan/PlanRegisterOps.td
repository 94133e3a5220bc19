// Register instructions: plan.fbs Opcode 0 to 34. Arithmetic is checked at
// run time: overflow and division by zero are errors of the run.
#ifndef STINT_DIALECTS_PLAN_PLANREGISTEROPS_TD
#define STINT_DIALECTS_PLAN_PLANREGISTEROPS_TD

include "dialects/Plan/PlanTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_SymbolOp : Plan_Op<"symbol", [Pure]> {
  let summary = "the value of a symbol of the plan";
  let description = [{
    Registers `[0, symbols)` of the machine hold the symbols; this names one.
    No instruction is written for it. Example: `%0 = plan.symbol 0`.
  }];
  let arguments = (ins I64Attr:$number);
  let results = (outs Plan_Register:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$number attr-dict";
}

def Plan_ConstOp : Plan_Op<"const", [Pure]> {
  let summary = "a constant (const_i64)";
  let arguments = (ins I64Attr:$value);
  let results = (outs Plan_Register:$result);
  let assemblyFormat = "$value attr-dict";
}

class Plan_ArithmeticOp<string mnemonic, string opSummary, list<Trait> traits = []>
    : Plan_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = opSummary;
  let arguments = (ins Plan_Register:$lhs, Plan_Register:$rhs);
  let results = (outs Plan_Register:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}
def Plan_AddOp : Plan_ArithmeticOp<"add", "sum", [Commutative]>;
def Plan_SubOp : Plan_ArithmeticOp<"sub", "difference">;
def Plan_MulOp : Plan_ArithmeticOp<"mul", "product", [Commutative]>;
def Plan_FloorDivOp : Plan_ArithmeticOp<"floor_div", "quotient rounded down">;
def Plan_CeilDivOp : Plan_ArithmeticOp<"ceil_div", "quotient rounded up">;
def Plan_ModOp : Plan_ArithmeticOp<"mod", "remainder, not negative for a positive divisor">;
def Plan_MinOp : Plan_ArithmeticOp<"min", "the smaller", [Commutative]>;
def Plan_MaxOp : Plan_ArithmeticOp<"max", "the larger", [Commutative]>;
def Plan_EqualOp : Plan_ArithmeticOp<"equal", "1 if equal, else 0", [Commutative]>;
def Plan_LessOp : Plan_ArithmeticOp<"less", "1 if lhs < rhs, else 0">;

def Plan_CheckOp : Plan_Op<"check"> {
  let summary = "ends the run with a shape mismatch unless the register is not 0";
  let description = "The message goes to the caller: it says which relation of which dimensions does not hold.";
  let arguments = (ins Plan_Register:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Plan_LoadOp : Plan_Op<"load"> {
  let summary = "one int64 element of a buffer (load_i64), bounds checked";
  let arguments = (ins Plan_Buffer:$buffer, I64Attr:$index);
  let results = (outs Plan_Register:$result);
  let assemblyFormat = "$buffer `[` $index `]` attr-dict";
}

def Plan_AssignOp : Plan_Op<"assign"> {
  let summary = "gives a register that exists another value";
  let description = [{
    In the body only. Where the target is a symbol's register, a value outside
    the symbol's bounds ends the run with an error.
  }];
  let arguments = (ins Plan_Register:$target, Plan_Register:$value);
  let assemblyFormat = "$target `,` $value attr-dict";
}

#endif
