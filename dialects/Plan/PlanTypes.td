// Types and attributes of the plan dialect.
#ifndef STINT_DIALECTS_PLAN_PLANTYPES_TD
#define STINT_DIALECTS_PLAN_PLANTYPES_TD

include "dialects/Plan/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Plan_Type<string name, string typeMnemonic> : TypeDef<Plan_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Plan_RegisterType : Plan_Type<"Register", "register"> {
  let summary = "an int64 register: a dimension, size or grid extent";
}
def Plan_BufferType : Plan_Type<"Buffer", "buffer"> {
  let summary = "a value in memory: arena, input, output or weight";
}
def Plan_Register : Type<CPred<"::llvm::isa<::stint::plan::RegisterType>($_self)">, "plan register",
                         "::stint::plan::RegisterType">,
                    BuildableType<"$_builder.getType<::stint::plan::RegisterType>()">;
def Plan_Buffer : Type<CPred<"::llvm::isa<::stint::plan::BufferType>($_self)">, "plan buffer",
                       "::stint::plan::BufferType">,
                  BuildableType<"$_builder.getType<::stint::plan::BufferType>()">;

def Plan_ProfileAttr : AttrDef<Plan_Dialect, "Profile"> {
  let mnemonic = "profile";
  let summary = "an arena layout for joint maxima of the symbols";
  let description = [{
    `maxima`: one per symbol of the module. `offsets` and `capacities`: one per
    buffer of the entry in order of appearance, in bytes, zero where the buffer
    is not in the arena; offsets are multiples of 64. `lowerBound`: the largest
    sum of bytes alive at once, which no arena can be smaller than.

    `#plan.profile<maxima = [4, 640], arena = 1024, bound = 960, offsets = [0, 64], capacities = [64, 960]>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$maxima, "int64_t":$arenaSize, "int64_t":$lowerBound,
                        OptionalArrayRefParameter<"int64_t">:$offsets, OptionalArrayRefParameter<"int64_t">:$capacities);
  let assemblyFormat = [{
    `<` `maxima` `=` `[` (`]`) : ($maxima^ `]`)? `,` `arena` `=` $arenaSize `,` `bound` `=` $lowerBound `,`
    `offsets` `=` `[` (`]`) : ($offsets^ `]`)? `,` `capacities` `=` `[` (`]`) : ($capacities^ `]`)? `>`
  }];
}

#endif
