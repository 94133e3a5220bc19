// The plan dialect: what the runtime executes, one to one with
// runtime/schema/plan.fbs.
#ifndef STINT_DIALECTS_PLAN_PLANDIALECT_TD
#define STINT_DIALECTS_PLAN_PLANDIALECT_TD

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::stint::plan";
  let summary = "a small register machine that dispatches kernels";
  let description = [{
    The last form before the file. A module is a plan: it holds the attributes
    `graph.symbols` (Plan.symbols) and `graph.files`, one private `func.func`
    per kernel with the attribute `graph.kind` (Plan.kernels, in order of
    appearance), and one `plan.entry` per entry (Plan.entries).

    Inside an entry there is one block. Values of type `!plan.register` are
    the int64 registers; values of type `!plan.buffer` are Entry.buffers, in
    order of appearance. Register operations before the first dispatch,
    copy, load, assignment or control flow are the prologue; whatever comes from
    there on is the body.
  }];
  let dependentDialects = ["::stint::graph::GraphDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

#endif
