// Elementwise operators. Operands are broadcast as in ONNX (aligned at the
// last dimension; a dimension of 1 stretches); each result element depends on
// one element of each operand.
#ifndef STINT_DIALECTS_GRAPH_GRAPHELEMENTWISEOPS_TD
#define STINT_DIALECTS_GRAPH_GRAPHELEMENTWISEOPS_TD

include "dialects/Graph/GraphTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Operands broadcast to the result; verified by the trait.
def Graph_Elementwise : NativeOpTrait<"Elementwise"> {
  let cppNamespace = "::stint::graph";
}
/// All operands and the result have one element type.
def Graph_SameElementType : NativeOpTrait<"SameElementType"> {
  let cppNamespace = "::stint::graph";
}

class Graph_UnaryOp<string mnemonic, Type operand, string opSummary, string origin>
    : Graph_Op<mnemonic, [Pure, Graph_Elementwise, Graph_SameElementType]> {
  let summary = opSummary;
  let description = "From ONNX " # origin # ". Result: the operand's shape and element type.";
  let arguments = (ins operand:$input);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, input.getType(), input);
  }]>];
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Graph_AbsOp : Graph_UnaryOp<"abs", Graph_NumberTensor, "absolute value", "Abs">;
def Graph_NegOp : Graph_UnaryOp<"neg", Graph_NumberTensor, "negation", "Neg">;
def Graph_SignOp : Graph_UnaryOp<"sign", Graph_NumberTensor, "-1, 0 or 1; NaN stays NaN", "Sign">;
def Graph_ExpOp : Graph_UnaryOp<"exp", Graph_FloatTensor, "e to the power of x", "Exp">;
def Graph_LogOp : Graph_UnaryOp<"log", Graph_FloatTensor, "natural logarithm", "Log">;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", Graph_FloatTensor, "square root, correctly rounded", "Sqrt">;
def Graph_ReciprocalOp : Graph_UnaryOp<"reciprocal", Graph_FloatTensor, "1 / x, correctly rounded", "Reciprocal">;
def Graph_FloorOp : Graph_UnaryOp<"floor", Graph_FloatTensor, "round towards minus infinity", "Floor">;
def Graph_CeilOp : Graph_UnaryOp<"ceil", Graph_FloatTensor, "round towards plus infinity", "Ceil">;
def Graph_RoundOp : Graph_UnaryOp<"round", Graph_FloatTensor, "round to nearest, ties to even", "Round">;
def Graph_SinOp : Graph_UnaryOp<"sin", Graph_FloatTensor, "sine of radians", "Sin">;
def Graph_CosOp : Graph_UnaryOp<"cos", Graph_FloatTensor, "cosine of radians", "Cos">;
def Graph_TanOp : Graph_UnaryOp<"tan", Graph_FloatTensor, "tangent of radians", "Tan">;
def Graph_AsinOp : Graph_UnaryOp<"asin", Graph_FloatTensor, "arc sine", "Asin">;
def Graph_AcosOp : Graph_UnaryOp<"acos", Graph_FloatTensor, "arc cosine", "Acos">;
def Graph_AtanOp : Graph_UnaryOp<"atan", Graph_FloatTensor, "arc tangent", "Atan">;
def Graph_SinhOp : Graph_UnaryOp<"sinh", Graph_FloatTensor, "hyperbolic sine", "Sinh">;
def Graph_CoshOp : Graph_UnaryOp<"cosh", Graph_FloatTensor, "hyperbolic cosine", "Cosh">;
def Graph_TanhOp : Graph_UnaryOp<"tanh", Graph_FloatTensor, "hyperbolic tangent", "Tanh">;
def Graph_AsinhOp : Graph_UnaryOp<"asinh", Graph_FloatTensor, "inverse hyperbolic sine", "Asinh">;
def Graph_AcoshOp : Graph_UnaryOp<"acosh", Graph_FloatTensor, "inverse hyperbolic cosine", "Acosh">;
def Graph_AtanhOp : Graph_UnaryOp<"atanh", Graph_FloatTensor, "inverse hyperbolic tangent", "Atanh">;
def Graph_ErfOp : Graph_UnaryOp<"erf", Graph_FloatTensor, "error function", "Erf">;
def Graph_SigmoidOp : Graph_UnaryOp<"sigmoid", Graph_FloatTensor, "1 / (1 + exp(-x))", "Sigmoid">;
def Graph_NotOp : Graph_UnaryOp<"not", Graph_BoolTensor, "logical negation", "Not">;
def Graph_BitNotOp : Graph_UnaryOp<"bit_not", Graph_IntegerTensor, "bitwise complement", "BitwiseNot">;

class Graph_TestOp<string mnemonic, string opSummary, string origin>
    : Graph_Op<mnemonic, [Pure, Graph_Elementwise]> {
  let summary = opSummary;
  let description = "From ONNX " # origin # ". Result: booleans of the operand's shape.";
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}
def Graph_IsNaNOp : Graph_TestOp<"is_nan", "true where the element is NaN", "IsNaN"> {
  let arguments = (ins Graph_FloatTensor:$input);
}
def Graph_IsInfOp : Graph_TestOp<"is_inf", "true where the element is infinite", "IsInf"> {
  let arguments = (ins Graph_FloatTensor:$input, DefaultValuedAttr<BoolAttr, "true">:$negative,
                       DefaultValuedAttr<BoolAttr, "true">:$positive);
}

class Graph_BinaryOp<string mnemonic, Type operand, string opSummary, string origin, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, Graph_Elementwise, Graph_SameElementType], traits)> {
  let summary = opSummary;
  let description = "From ONNX " # origin # ". Operands are broadcast; one element type.";
  let arguments = (ins operand:$lhs, operand:$rhs);
  let results = (outs Graph_AnyTensor:$result);
  // Broadcasts; the shapes must be known to broadcast.
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, broadcastType({lhs, rhs}), lhs, rhs);
  }]>];
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Graph_AddOp : Graph_BinaryOp<"add", Graph_NumberTensor, "sum; integers wrap", "Add", [Commutative]>;
def Graph_SubOp : Graph_BinaryOp<"sub", Graph_NumberTensor, "difference; integers wrap", "Sub">;
def Graph_MulOp : Graph_BinaryOp<"mul", Graph_NumberTensor, "product; integers wrap", "Mul", [Commutative]>;
def Graph_DivOp : Graph_BinaryOp<"div", Graph_NumberTensor,
  "quotient; integers truncate, division by zero gives 0", "Div">;
def Graph_RemOp : Graph_BinaryOp<"rem", Graph_NumberTensor,
  "remainder with the dividend's sign (C fmod, %); integer division by zero gives 0", "Mod with fmod=1">;
def Graph_ModOp : Graph_BinaryOp<"mod", Graph_IntegerTensor,
  "remainder with the divisor's sign (Python %); division by zero gives 0", "Mod with fmod=0">;
def Graph_PowOp : Graph_BinaryOp<"pow", Graph_NumberTensor, "lhs to the power of rhs", "Pow">;
def Graph_MinOp : Graph_BinaryOp<"min", Graph_NumberTensor, "the smaller; NaN if either is NaN", "Min", [Commutative]>;
def Graph_MaxOp : Graph_BinaryOp<"max", Graph_NumberTensor, "the larger; NaN if either is NaN", "Max", [Commutative]>;
def Graph_AndOp : Graph_BinaryOp<"and", Graph_BoolTensor, "logical and", "And", [Commutative]>;
def Graph_OrOp : Graph_BinaryOp<"or", Graph_BoolTensor, "logical or", "Or", [Commutative]>;
def Graph_XorOp : Graph_BinaryOp<"xor", Graph_BoolTensor, "exclusive or", "Xor", [Commutative]>;
def Graph_BitAndOp : Graph_BinaryOp<"bit_and", Graph_IntegerTensor, "bitwise and", "BitwiseAnd", [Commutative]>;
def Graph_BitOrOp : Graph_BinaryOp<"bit_or", Graph_IntegerTensor, "bitwise or", "BitwiseOr", [Commutative]>;
def Graph_BitXorOp : Graph_BinaryOp<"bit_xor", Graph_IntegerTensor, "bitwise exclusive or", "BitwiseXor", [Commutative]>;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", Graph_IntegerTensor,
  "left shift; by the width or more gives 0", "BitShift">;
def Graph_ShiftRightOp : Graph_BinaryOp<"shift_right", Graph_IntegerTensor,
  "right shift (logical for unsigned); by the width or more gives 0", "BitShift">;

def Graph_CompareOp : Graph_Op<"compare", [Pure, Graph_Elementwise]> {
  let summary = "compares elements";
  let description = [{
    From ONNX Equal, Less, LessOrEqual, Greater, GreaterOrEqual. Operands are
    broadcast and of one element type (booleans: eq and ne only); the result
    holds booleans. A comparison with NaN is false, but for `ne`.
  }];
  let arguments = (ins Graph_ComparePredicateAttr:$predicate, Graph_AnyTensor:$lhs, Graph_AnyTensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let builders = [OpBuilder<(ins "ComparePredicate":$predicate, "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, broadcastType({lhs, rhs}).withElementType($_builder.getI1Type()), predicate, lhs, rhs);
  }]>];
  let hasVerifier = 1;
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Graph_SelectOp : Graph_Op<"select", [Pure, Graph_Elementwise]> {
  let summary = "takes elements of one operand or the other";
  let description = "From ONNX Where. All three operands are broadcast; the last two have the result's element type.";
  let arguments = (ins Graph_BoolTensor:$condition, Graph_AnyTensor:$ifTrue, Graph_AnyTensor:$ifFalse);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$ifTrue, "::mlir::Value":$ifFalse), [{
    auto type = ::llvm::cast<GraphTensorType>(ifTrue.getType());
    build($_builder, $_state, broadcastType({condition, ifTrue, ifFalse}).withElementType(type.getElementType()),
          condition, ifTrue, ifFalse);
  }]>];
  let hasVerifier = 1;
  let assemblyFormat = "$condition `,` $ifTrue `,` $ifFalse attr-dict `:` functional-type(operands, results)";
}

def Graph_CastOp : Graph_Op<"cast", [Pure, Graph_Elementwise]> {
  let summary = "converts elements to another type";
  let description = [{
    From ONNX Cast and CastLike. Float to integer truncates towards zero, and
    saturates where the value does not fit (NaN gives 0); integer to integer
    wraps; to boolean is `!= 0`; from boolean gives 0 or 1; float to float
    rounds to nearest even.
  }];
  let arguments = (ins Graph_AnyTensor:$input);
  let results = (outs Graph_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::llvm::cast<GraphTensorType>(input.getType()).withElementType(elementType), input);
  }]>];
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif
