// What a module says of the decoder that it is. Written by import, read where
// the plan is built.
#ifndef STINT_DIALECTS_GRAPH_DECODER_H
#define STINT_DIALECTS_GRAPH_DECODER_H

#include "llvm/ADT/StringRef.h"

namespace stint::graph {

/// Module attribute, a dictionary: integers `page_size`, `page_count`,
/// `context`; strings `token_ids`, `logits`, the names of an input and an
/// output. Such a module's main function is one step for any number of tokens
/// of any number of sequences; its other inputs are those named below.
inline constexpr llvm::StringLiteral kDecoderAttr = "graph.decoder";

/// Inputs of i32, by name: what plan.fbs calls positions, sequences, pages and
/// rows in `Decoder`.
namespace steptable {
inline constexpr llvm::StringLiteral kPositions = "step.positions";
inline constexpr llvm::StringLiteral kSequences = "step.sequences";
inline constexpr llvm::StringLiteral kPages = "step.pages";
inline constexpr llvm::StringLiteral kRows = "step.rows";
/// The symbols of their dimensions.
inline constexpr llvm::StringLiteral kTokenCount = "tokens";
inline constexpr llvm::StringLiteral kSequenceCount = "sequences";
inline constexpr llvm::StringLiteral kRowCount = "logit_rows";
} // namespace steptable

} // namespace stint::graph

#endif
