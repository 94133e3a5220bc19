// Text decoders: from a model with past and present keys and values to one
// step over any number of tokens of any number of sequences.
//
// ONNX decoders take `past_key_values.*` and give `present.*`. Here such pairs
// become paged state, and batch × sequence one ragged token dimension:
//   * each attention node with a past and a present becomes a node
//     `PagedAttention` of the domain kDomain, whose caches are states;
//   * the mask, lengths and positions that the model makes for it are
//     evaluated for a number of lengths, with a mask of ones and one
//     sequence; they must come to what paged attention does (causal, perhaps a
//     window), or the model stays as it is;
//   * the inputs of the step table take the place of mask, positions and past.
// That all other operators leave tokens apart from each other is checked
// later, by passes/graph/SinkRows.
#ifndef STINT_COMPILER_IMPORT_DECODER_H
#define STINT_COMPILER_IMPORT_DECODER_H

#include "compiler/import/Diagnostics.h"
#include "compiler/import/Importer.h"

namespace stint::import {

/// Positions of a page: kernels compute as many scores at once.
inline constexpr int64_t kPagePositions = 32;

/// The domain of the nodes that only this makes.
inline constexpr llvm::StringLiteral kDecoderDomain = "stint.decoder";
inline constexpr llvm::StringLiteral kPagedAttention = "PagedAttention";

/// Whether attention nodes of `model` have a past that is an input and a
/// present that is an output.
bool hasPast(const Model &model);

/// Rewrites a model with a past, and adds to `options` the states and the
/// bounds of the step table. What the user asked for and cannot have is
/// reported; if the model has another form, `blocker` says which node is in
/// the way, and model and options stay as they were.
std::optional<Decoder> introduceTokens(Model &model, ImportOptions &options, Diagnostics &diagnostics,
                                       std::string &blocker);

/// Imports a model with a past: as a decoder if it can be one.
ImportedModel importDecoder(Model &model, const ImportOptions &options, mlir::MLIRContext &context,
                            Diagnostics &diagnostics);

} // namespace stint::import

#endif
