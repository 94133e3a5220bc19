// Types and attributes of the graph dialect.
#ifndef STINT_DIALECTS_GRAPH_GRAPHTYPES_TD
#define STINT_DIALECTS_GRAPH_GRAPHTYPES_TD

include "dialects/Graph/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Graph_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Graph_SymbolAttr : Graph_Attr<"Symbol", "symbol"> {
  let summary = "a named dimension with inclusive bounds";
  let description = [{
    Example: `#graph.symbol<"batch", 1, 8>`. `upper` is what memory is planned
    for. The name is the ONNX `dim_param`, or made from the input's name and
    axis where the model gives none. A symbol that gets its value while the
    model runs may have a `bound`, an expression over symbols before it that
    its value never exceeds: smaller shapes then need less memory.

    `#graph.symbol<"height", 1, 30 step 32>`: the dimension is a multiple of
    32, from 32 to 960. The symbol counts the multiples, so that tensors have
    the dimension `s0 * 32`; in a plan the symbol is the dimension itself.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$lower, "int64_t":$upper,
                        DefaultValuedParameter<"int64_t", "1">:$step, OptionalParameter<"::mlir::AffineMap">:$bound);
  let builders = [AttrBuilder<(ins "::mlir::StringAttr":$name, "int64_t":$lower, "int64_t":$upper), [{
    return $_get($_ctxt, name, lower, upper, int64_t(1), ::mlir::AffineMap());
  }]>];
  let assemblyFormat = "`<` $name `,` $lower `,` $upper (`step` $step^)? (`,` $bound^)? `>`";
}

def Graph_LayoutAttr : Graph_Attr<"Layout", "layout"> {
  let summary = "how a tensor's elements are arranged in memory";
  let description = [{
    `order` lists the logical dimensions from the outermost in memory to the
    innermost. With `tile = d : n`, dimension `d` is split into blocks of `n`:
    the block number takes the place of `d` in `order`, the position inside the
    block becomes the innermost dimension, and the last block is padded with
    zeros. A tensor without a layout is row-major.

    * `#graph.layout<[0, 2, 3, 1]>`: channels-last for a `[N, C, H, W]` tensor.
    * `#graph.layout<[1, 0], tile = 1 : 16>`: panels of 16 columns of a
      `[K, N]` matrix: `[N/16][K][16]`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order, "int64_t":$tiledDim, "int64_t":$tileSize);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$order), [{
    return $_get($_ctxt, order, int64_t(-1), int64_t(0));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isTiled() const { return getTiledDim() >= 0; }
  }];
}

def Graph_ExtentAttr : Graph_Attr<"Extent", "extent"> {
  let summary = "bytes of a file that hold a dense row-major tensor";
  let description = [{
    `file` is an index into the module attribute `graph.files` (an array of
    paths); `offset` and `size` are in bytes. `type` and `shape` say what the
    bytes hold, as ONNX stores them.
  }];
  let parameters = (ins "int64_t":$file, "uint64_t":$offset, "uint64_t":$size,
                        "::mlir::Type":$type, OptionalArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $file `,` $offset `,` $size `,` $type `,` `[` (`]`) : ($shape^ `]`)? `>`";
}

def Graph_StepAttr : Graph_Attr<"Step", "step"> {
  let summary = "one lazy transform of a weight recipe";
  let description = [{
    * `#graph.step<transpose, [1, 0]>`: new dimension `i` is old `values[i]`.
    * `#graph.step<reshape, [2, 3]>`: row-major reinterpretation.
    * `#graph.step<cast, f32>`: element conversion, ONNX Cast semantics.
  }];
  let parameters = (ins StringRefParameter<"which transform">:$kind, OptionalArrayRefParameter<"int64_t">:$values,
                        DefaultValuedParameter<"::mlir::Type", "::mlir::Type()">:$type);
  let hasCustomAssemblyFormat = 1;
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$kind, "::llvm::ArrayRef<int64_t>":$values), [{
      return $_get($_ctxt, kind, values, ::mlir::Type());
    }]>];
}

class Graph_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Graph_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Graph_TensorType : Graph_Type<"GraphTensor", "tensor"> {
  let summary = "a tensor with symbolic dimensions and a layout";
  let description = [{
    `!graph.tensor<[s0, 3, s1 floordiv 2] x f32, #graph.layout<[0, 2, 1]>>`.
    Each dimension is an affine expression over the module's symbols (products
    of symbols are allowed) that is never negative within their bounds. Rank 0
    to 8. Element types: f16, bf16, f32, f64, signless i8, i16, i32, i64
    (signed), ui8, ui16, ui32, ui64, and i1 (one byte in memory).
    Shapes are always logical: a layout never changes what an operator means.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr">:$shape,
                        "::mlir::Type":$elementType, "LayoutAttr":$layout);
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::mlir::AffineExpr>":$shape,
                     "::mlir::Type":$elementType), [{
      return $_get(elementType.getContext(), shape, elementType, LayoutAttr());
    }]>,
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::mlir::AffineExpr>":$shape,
                     "::mlir::Type":$elementType, "LayoutAttr":$layout), [{
      return $_get(elementType.getContext(), shape, elementType, layout);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kMaxRank = 8;
    int64_t getRank() const { return getShape().size(); }
    ::mlir::AffineExpr getDim(int64_t i) const { return getShape()[i]; }
    /// The dimension's value if it is a constant.
    std::optional<int64_t> getStaticDim(int64_t i) const;
    bool hasStaticShape() const;
    /// All dimensions; the shape must be static.
    ::llvm::SmallVector<int64_t> getStaticShape() const;
    /// Product of all dimensions.
    ::mlir::AffineExpr getNumElements() const;
    /// Logical dimensions from the outermost in memory to the innermost.
    ::llvm::SmallVector<int64_t> getOrder() const;
    bool isRowMajor() const { return !getLayout(); }
    GraphTensorType withShape(::llvm::ArrayRef<::mlir::AffineExpr> shape) const;
    GraphTensorType withElementType(::mlir::Type type) const;
    /// Identity orders become the null layout.
    GraphTensorType withLayout(LayoutAttr layout) const;
  }];
}

def Graph_AnyTensor : Type<CPred<"::llvm::isa<::stint::graph::GraphTensorType>($_self)">, "graph tensor", "::stint::graph::GraphTensorType">;

class Graph_TensorOf<string cond, string summary>
    : Type<And<[Graph_AnyTensor.predicate,
                CPred<"::stint::graph::" # cond # "(::llvm::cast<::stint::graph::GraphTensorType>($_self).getElementType())">]>,
           "graph tensor of " # summary, "::stint::graph::GraphTensorType">;
def Graph_FloatTensor : Graph_TensorOf<"isFloat", "floating point">;
def Graph_NumberTensor : Graph_TensorOf<"isNumber", "numbers">;
def Graph_IntegerTensor : Graph_TensorOf<"isInteger", "integers">;
def Graph_BoolTensor : Graph_TensorOf<"isBool", "booleans">;
def Graph_IndexTensor : Graph_TensorOf<"isIndex", "i32 or i64 indices">;

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::stint::graph";
  let genSpecializedAttr = 0;
}

def Graph_ComparePredicate : Graph_Enum<"ComparePredicate", "how two elements are compared", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Graph_ComparePredicateAttr : EnumAttr<Graph_Dialect, Graph_ComparePredicate, "compare_predicate">;

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"mean", 1>, I32EnumAttrCase<"prod", 2>,
  I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>,
  I32EnumAttrCase<"argmax", 5>, I32EnumAttrCase<"argmin", 6>]>;
def Graph_ReduceKindAttr : EnumAttr<Graph_Dialect, Graph_ReduceKind, "reduce_kind">;

def Graph_PadMode : Graph_Enum<"PadMode", "what a padded element holds", [
  I32EnumAttrCase<"constant", 0>, I32EnumAttrCase<"reflect", 1>,
  I32EnumAttrCase<"edge", 2>, I32EnumAttrCase<"wrap", 3>]>;
def Graph_PadModeAttr : EnumAttr<Graph_Dialect, Graph_PadMode, "pad_mode">;

def Graph_KernelKind : Graph_Enum<"KernelKind", "which generator lowers a kernel", [
  I32EnumAttrCase<"loopnest", 0>, I32EnumAttrCase<"contraction", 1>, I32EnumAttrCase<"leaf", 2>]>;
def Graph_KernelKindAttr : EnumAttr<Graph_Dialect, Graph_KernelKind, "kernel_kind">;

#endif
