// Decoder: see the header of that name.
#include "compiler/import/Decoder.h"

#include "compiler/import/SmallValues.h"
#include "dialects/Graph/Decoder.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace llvm;
using namespace stint;
using namespace stint::import;

/// Where nothing else says.
constexpr int64_t kDefaultContext = 2048, kDefaultChunk = 128, kDefaultSequences = 1;

namespace {

/// One attention node with its caches.
struct Layer {
  Node *node = nullptr;
  bool grouped = false; // com.microsoft.GroupQueryAttention; else Attention
  std::string past[2], present[2];
  int64_t heads = 0, size = 0; // of keys
  int64_t window = 0;          // keys that a query sees, 0: all before it
};

/// A past of P positions, then S new ones.
struct Lengths {
  int64_t past, fresh;
};

class TokenIntroduction {
public:
  TokenIntroduction(Model &model, ImportOptions &options, Diagnostics &diagnostics, std::string &blocker)
      : model(model), options(options), diagnostics(diagnostics), blocker(blocker) {}
  std::optional<Decoder> run();

private:
  bool block(const Twine &why) {
    blocker = why.str();
    return false;
  }
  bool blockAt(const Node &node, const Twine &why) {
    return block("node '" + node.label() + "' (" + node.opType + ") " + why);
  }
  ValueInfo *input(StringRef name) { return find(model.graph.inputs, name); }
  static ValueInfo *find(std::vector<ValueInfo> &values, StringRef name) {
    auto it = llvm::find_if(values, [&](const ValueInfo &value) { return value.name == name; });
    return it == values.end() ? nullptr : &*it;
  }
  bool findLayers();
  bool findPorts();
  bool checkNode(const Layer &layer);
  bool prove(Layer &layer);
  bool proveNumbers(Layer &layer, StringRef name, const Twine &what, function_ref<double(Lengths, int64_t)> expected,
                    function_ref<int64_t(Lengths)> count);
  bool proveMask(Layer &layer, StringRef name, bool causal);
  SmallValues valuesFor(Lengths lengths);
  std::vector<Lengths> samples() const;
  bool chooseSizes();
  void rewrite();
  void rewriteNode(Layer &layer);
  bool checkRest();

  Model &model;
  ImportOptions &options;
  Diagnostics &diagnostics;
  std::string &blocker;
  std::vector<Layer> layers;
  std::string mask, positions;                 // inputs, if the model has them
  int64_t tokens = 0, sequences = 0, rows = 0; // of a step, at most
  Decoder result;
};

} // namespace

static bool isAttention(const Node &node) {
  return (node.domain == "com.microsoft" && node.opType == "GroupQueryAttention") ||
         (node.domain.empty() && node.opType == "Attention");
}

static StringRef at(const std::vector<std::string> &names, size_t i) {
  return i < names.size() ? StringRef(names[i]) : StringRef();
}

static size_t firstPast(const Node &node) { return node.opType == "Attention" ? 4 : 3; }

bool import::hasPast(const Model &model) {
  StringSet<> inputs, outputs;
  for (const ValueInfo &value : model.graph.inputs)
    inputs.insert(value.name);
  for (const ValueInfo &value : model.graph.outputs)
    outputs.insert(value.name);
  return llvm::any_of(model.graph.nodes, [&](const Node &node) {
    return isAttention(node) && inputs.contains(at(node.inputs, firstPast(node))) &&
           outputs.contains(at(node.outputs, 1));
  });
}

// Recognition.

bool TokenIntroduction::findLayers() {
  for (Node &node : model.graph.nodes) {
    if (!isAttention(node))
      continue;
    Layer layer;
    layer.node = &node;
    layer.grouped = node.opType != "Attention";
    for (size_t i : {0, 1}) {
      layer.past[i] = at(node.inputs, firstPast(node) + i);
      layer.present[i] = at(node.outputs, 1 + i);
      ValueInfo *past = input(layer.past[i]);
      if (!past || !find(model.graph.outputs, layer.present[i]))
        return blockAt(node, "has a past or present that is no input and output of the model");
      if (past->type != DataType::Float)
        return blockAt(node, "has a past of " + nameOf(past->type) + ", only float32 is taken so far");
      if (past->dims.size() != 4 || !past->dims[1].value || !past->dims[3].value)
        return blockAt(node, "has a past that is not [batch, heads, positions, head size] with fixed heads and sizes");
      int64_t heads = *past->dims[1].value, size = *past->dims[3].value;
      if (i && (heads != layer.heads || size != layer.size))
        return blockAt(node, "has keys and values of different shapes");
      layer.heads = heads;
      layer.size = size;
    }
    if (layer.heads < 1 || layer.size < 1 || layer.heads > 1024 || layer.size > 512)
      return blockAt(node, "has a past of " + Twine(layer.heads) + " heads of " + Twine(layer.size) + " elements");
    if (!checkNode(layer))
      return false;
    layers.push_back(layer);
  }
  return true;
}

/// What paged attention does not do.
bool TokenIntroduction::checkNode(const Layer &layer) {
  const Node &node = *layer.node;
  size_t most = layer.grouped ? 12 : 6;
  for (size_t i = most; i < node.inputs.size(); ++i)
    if (!node.inputs[i].empty())
      return blockAt(node, "has an input " + Twine(i) + ", which only plain tensors (--state none) are made for");
  for (size_t i = 3; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      return blockAt(node, "gives its scores");
  if (layer.grouped && !at(node.inputs, 10).empty())
    return blockAt(node, "has a bias");
  for (StringRef name : {"left_window_size", "right_window_size"})
    if (node.intOr(name, -1) >= 0)
      return blockAt(node, "has a " + name);
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (const NodeAttribute *type = node.find(name); type && type->s != "NONE")
      return blockAt(node, "has a quantised cache");
  return true;
}

bool TokenIntroduction::findPorts() {
  StringSet<> pasts, presents;
  for (const Layer &layer : layers) {
    for (size_t i : {0, 1})
      if (!pasts.insert(layer.past[i]).second || !presents.insert(layer.present[i]).second)
        return blockAt(*layer.node, "shares its past or present with another node");
    result.pageBytes += 2 * layer.heads * layer.size * kPagePositions * (options.decoder.half ? 2 : 4);
  }
  for (const ValueInfo &output : model.graph.outputs) {
    if (presents.contains(output.name))
      continue;
    if (!result.logits.empty())
      return block("output '" + output.name + "' is neither the logits nor a present");
    result.logits = output.name;
  }
  StringSet<> initializers, inputs;
  for (const Tensor &tensor : model.graph.initializers)
    initializers.insert(tensor.name);
  for (const ValueInfo &value : model.graph.inputs) {
    if (!inputs.insert(value.name).second)
      return block("two inputs are called '" + value.name + "'");
    if (pasts.contains(value.name) || initializers.contains(value.name))
      continue;
    bool integers = value.type == DataType::Int64 || value.type == DataType::Int32;
    StringRef name = value.name;
    if (!integers || value.dims.size() != 2)
      return block("input '" + name + "' is not what a decoder has: token ids, a mask, positions, a past");
    if (name.contains("mask") && mask.empty())
      mask = name;
    else if (name.contains("position") && positions.empty())
      positions = name;
    else if (result.tokenIds.empty())
      result.tokenIds = name;
    else
      return block("inputs '" + result.tokenIds + "' and '" + name + "' could both be the token ids");
  }
  if (result.tokenIds.empty() || result.logits.empty())
    return block(Twine("the model has no ") + (result.tokenIds.empty() ? "token ids" : "logits"));
  for (StringRef name :
       {graph::steptable::kPositions, graph::steptable::kSequences, graph::steptable::kPages, graph::steptable::kRows})
    if (input(name))
      return block("the model has an input '" + name + "' of its own");
  return true;
}

// Proof.

/// Lengths on both sides of whatever a mask may compare with.
std::vector<Lengths> TokenIntroduction::samples() const {
  int64_t most = result.context;
  std::vector<Lengths> lengths = {{0, 1},  {0, 5},  {1, 1},        {3, 1},       {4, 3},
                                  {17, 9}, {0, 33}, {most / 2, 2}, {most - 1, 1}};
  llvm::erase_if(lengths, [&](Lengths l) { return l.past < 0 || l.past + l.fresh > most; });
  return lengths;
}

SmallValues TokenIntroduction::valuesFor(Lengths lengths) {
  StringMap<SmallValue> known;
  auto shaped = [&](StringRef name, std::vector<int64_t> dims) -> SmallValue & {
    SmallValue &value = known[name];
    value.dims = std::move(dims);
    value.onlyShape = true;
    return value;
  };
  shaped(result.tokenIds, {1, lengths.fresh});
  for (const Layer &layer : layers)
    for (const std::string &past : layer.past)
      shaped(past, {1, layer.heads, lengths.past, layer.size});
  if (!mask.empty()) {
    SmallValue &ones = shaped(mask, {1, lengths.past + lengths.fresh});
    ones.elements.assign(ones.count(), 1);
    ones.onlyShape = false;
  }
  if (!positions.empty()) {
    SmallValue &places = shaped(positions, {1, lengths.fresh});
    for (int64_t i = 0; i < lengths.fresh; ++i)
      places.elements.push_back(static_cast<double>(lengths.past + i));
    places.onlyShape = false;
  }
  return SmallValues(model, std::move(known));
}

bool TokenIntroduction::proveNumbers(Layer &layer, StringRef name, const Twine &what,
                                     function_ref<double(Lengths, int64_t)> expected,
                                     function_ref<int64_t(Lengths)> count) {
  for (Lengths lengths : samples()) {
    SmallValues values = valuesFor(lengths);
    const SmallValue *value = values.get(name);
    if (!value || value->onlyShape)
      return blockAt(*layer.node, "has " + what + " that is not a function of lengths alone" +
                                      (values.problem.empty() ? "" : ": " + values.problem));
    bool right = value->count() == count(lengths);
    for (int64_t i = 0; right && i < value->count(); ++i)
      right = value->elements[i] == expected(lengths, i);
    if (!right)
      return blockAt(*layer.node, "has " + what + " that differs from a sequence without padding, with " +
                                      Twine(lengths.past) + " positions before " + Twine(lengths.fresh) + " new ones");
  }
  return true;
}

/// The mask must be a function of query and key: all keys up to the query, or
/// the last `layer.window` of them.
bool TokenIntroduction::proveMask(Layer &layer, StringRef name, bool causal) {
  std::optional<int64_t> window;
  for (Lengths lengths : samples()) {
    SmallValues values = valuesFor(lengths);
    const SmallValue *value = values.get(name);
    if (!value || value->onlyShape)
      return blockAt(*layer.node, "has a mask that is not a function of lengths alone" +
                                      (values.problem.empty() ? "" : ": " + values.problem));
    int64_t keys = lengths.past + lengths.fresh, rank = value->dims.size();
    int64_t rows = rank > 1 ? value->dims[rank - 2] : 1, columns = rank ? value->dims[rank - 1] : 1;
    if (value->count() != rows * columns || (rows != 1 && rows != lengths.fresh) || columns != keys)
      return blockAt(*layer.node, "has a mask that is not [1, 1, new positions, all positions]");
    for (int64_t i = 0; i < lengths.fresh; ++i) {
      int64_t query = lengths.past + i, seen = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double element = value->elements[(rows == 1 ? 0 : i) * columns + j];
        // Booleans say what is seen, floats what is added.
        bool sees = value->integer ? element != 0 : element == 0;
        if (!value->integer && element != 0 && !(element <= -1e4))
          return blockAt(*layer.node, "has a mask with a bias in it");
        sees = sees && !(causal && j > query);
        if (sees && j > query)
          return blockAt(*layer.node, "has a mask that lets a token see later ones");
        // No gap between what is seen and the query itself.
        if (seen && !sees && j <= query)
          return blockAt(*layer.node, "has a mask that is no window of the last positions");
        seen += sees;
      }
      int64_t own = seen == query + 1 ? 0 : seen;
      if (seen == 0 || (own && window.value_or(own) != own) || (!own && window && *window < seen))
        return blockAt(*layer.node, "has a mask that is no window of the last positions");
      if (own)
        window = own;
    }
  }
  layer.window = window.value_or(0);
  return true;
}

bool TokenIntroduction::prove(Layer &layer) {
  const Node &node = *layer.node;
  auto one = [](Lengths) -> int64_t { return 1; };
  if (!layer.grouped) {
    bool causal = node.intOr("is_causal", 0);
    StringRef name = at(node.inputs, 3);
    if (name.empty())
      return causal || blockAt(node, "sees later tokens: it has neither is_causal nor a mask");
    return proveMask(layer, name, causal);
  }
  // What is neither -1 nor positive PagedAttention refuses.
  int64_t window = node.intOr("local_window_size", -1);
  layer.window = window > 0 ? window : window == -1 ? 0 : -1;
  auto last = [](Lengths l, int64_t) { return static_cast<double>(l.past + l.fresh - 1); };
  auto all = [](Lengths l, int64_t) { return static_cast<double>(l.past + l.fresh); };
  auto place = [](Lengths l, int64_t i) { return static_cast<double>(l.past + i); };
  if (at(node.inputs, 5).empty() || at(node.inputs, 6).empty())
    return blockAt(node, "lacks seqlens_k or total_sequence_length");
  if (!proveNumbers(layer, node.inputs[5], "a seqlens_k", last, one) ||
      !proveNumbers(layer, node.inputs[6], "a total_sequence_length", all, one))
    return false;
  StringRef own = at(node.inputs, 9);
  return own.empty() || proveNumbers(layer, own, "position_ids", place, [](Lengths l) { return l.fresh; });
}

// Sizes.

bool TokenIntroduction::chooseSizes() {
  const DecoderOptions &asked = options.decoder;
  // Tables of angles say how long a sequence may be.
  int64_t most = int64_t(1) << 20;
  std::string table;
  for (const Layer &layer : layers)
    for (const Tensor &tensor : model.graph.initializers)
      if (layer.grouped && tensor.name == at(layer.node->inputs, 7) && tensor.dims.size() == 2 &&
          tensor.dims[0] < most) {
        most = tensor.dims[0];
        table = tensor.name;
      }
  for (const Node &node : model.graph.nodes)
    for (const Tensor &tensor : model.graph.initializers)
      if (node.opType == "RotaryEmbedding" && tensor.dims.size() == 2 && tensor.dims[0] < most &&
          tensor.name == at(node.inputs, node.domain.empty() ? 1 : 2)) {
        most = tensor.dims[0];
        table = tensor.name;
      }
  result.context = asked.context ? asked.context : std::min(most, kDefaultContext);
  auto usage = [&](const Twine &why) {
    diagnostics.report(Problem::Usage, why);
    return false;
  };
  if (result.context < 1 || result.context > most)
    return usage("--context " + Twine(result.context) + ": " +
                 (table.empty() ? "a sequence has 1 to 1048576 positions"
                                : "the model has angles ('" + table + "') for 1 to " + Twine(most) + " positions"));
  int64_t sequences = asked.sequences ? asked.sequences : kDefaultSequences;
  if (sequences < 1 || sequences > 4096)
    return usage("--max-sequences " + Twine(sequences) + ": expected 1 to 4096");
  int64_t chunk = asked.chunk ? asked.chunk : std::min(kDefaultChunk, result.context);
  if (chunk < 1 || chunk > 65536)
    return usage("--chunk " + Twine(chunk) + ": expected 1 to 65536 tokens");
  int64_t pagesEach = (result.context + kPagePositions - 1) / kPagePositions;
  result.pageSize = kPagePositions;
  result.pageCount = pagesEach * sequences;
  if (asked.kvMemory) {
    int64_t fit = static_cast<int64_t>(asked.kvMemory / static_cast<uint64_t>(result.pageBytes));
    if (fit < 1)
      return usage("--kv-memory " + Twine(asked.kvMemory) + ": a page of " + Twine(kPagePositions) +
                   " positions takes " + Twine(result.pageBytes) + " bytes in all layers");
    result.pageCount = std::min(result.pageCount, fit);
  }
  if (result.pageCount > int64_t(1) << 24)
    return usage("--context and --max-sequences ask for more keys and values than any machine holds");
  result.tokens = tokens = std::max(chunk, sequences);
  result.sequences = sequences;
  rows = asked.rows ? asked.rows : sequences;
  if (rows < 1 || rows > tokens)
    return usage("--logit-rows " + Twine(rows) + ": expected 1 to " + Twine(tokens) + ", the tokens of a step");
  this->sequences = sequences;
  return true;
}

// Rewriting.

static ValueInfo port(StringRef name, DataType type, std::vector<ValueInfo::Dim> dims) {
  ValueInfo value;
  value.name = name.str();
  value.kind = ValueInfo::Kind::Tensor;
  value.type = type;
  value.hasShape = true;
  value.dims = std::move(dims);
  return value;
}

static ValueInfo::Dim fixed(int64_t size) { return {size, ""}; }
static ValueInfo::Dim named(StringRef name) { return {std::nullopt, name.str()}; }

static NodeAttribute integer(StringRef name, int64_t value) {
  NodeAttribute a;
  a.name = name.str();
  a.kind = NodeAttribute::Kind::Int;
  a.i = value;
  return a;
}

void TokenIntroduction::rewriteNode(Layer &layer) {
  using namespace graph::steptable;
  Node &node = *layer.node;
  Node paged;
  paged.name = node.name;
  paged.opType = kPagedAttention.str();
  paged.domain = kDecoderDomain.str();
  auto given = [&](size_t i) { return at(node.inputs, i).str(); };
  paged.inputs = {given(0),      given(1),         given(2),         layer.past[0],
                  layer.past[1], kPositions.str(), kSequences.str(), kPages.str()};
  if (layer.grouped)
    for (size_t i : {7, 8, 11})
      paged.inputs.push_back(given(i));
  paged.outputs = node.outputs;
  for (const NodeAttribute &a : node.attributes)
    if (StringRef name = a.name; name == "scale" || name == "softcap" || name == "smooth_softmax" ||
                                 name == "do_rotary" || name == "rotary_interleaved")
      paged.attributes.push_back(a);
  bool grouped = layer.grouped;
  paged.attributes.push_back(integer("num_heads", node.intOr(grouped ? "num_heads" : "q_num_heads", 0)));
  paged.attributes.push_back(integer("kv_num_heads", node.intOr("kv_num_heads", layer.heads)));
  paged.attributes.push_back(integer("window", layer.window));
  node = std::move(paged);
}

void TokenIntroduction::rewrite() {
  using namespace graph::steptable;
  Graph &graph = model.graph;
  DataType kept = options.decoder.half ? DataType::Float16 : DataType::Float;
  for (Layer &layer : layers) {
    rewriteNode(layer);
    for (size_t i : {0, 1}) {
      // Keys lie with the positions of a page side by side, values with the
      // elements of a head.
      int64_t inner = i ? layer.size : kPagePositions, outer = i ? kPagePositions : layer.size;
      *input(layer.past[i]) =
          port(layer.past[i], kept, {fixed(result.pageCount), fixed(layer.heads), fixed(outer), fixed(inner)});
      find(graph.outputs, layer.present[i])->type = kept;
      options.states.push_back({layer.past[i], layer.present[i]});
    }
  }
  for (auto [name, upper] :
       {std::pair(kTokenCount, tokens), std::pair(kSequenceCount, sequences), std::pair(kRowCount, rows)})
    options.dims[name] = {0, upper, 1};
  DataType positionType = positions.empty() ? DataType::Int64 : input(positions)->type;
  llvm::erase_if(graph.inputs, [&](const ValueInfo &value) { return value.name == mask || value.name == positions; });
  input(result.tokenIds)->dims = {fixed(1), named(kTokenCount)};
  int64_t pagesEach = (result.context + kPagePositions - 1) / kPagePositions;
  graph.inputs.push_back(port(kPositions, DataType::Int32, {named(kTokenCount)}));
  graph.inputs.push_back(port(kSequences, DataType::Int32, {named(kTokenCount)}));
  graph.inputs.push_back(port(kPages, DataType::Int32, {named(kSequenceCount), fixed(pagesEach)}));
  graph.inputs.push_back(port(kRows, DataType::Int32, {named(kRowCount)}));
  if (!positions.empty()) {
    Node node;
    node.name = node.opType = "StepPositions";
    node.domain = kDecoderDomain.str();
    node.inputs = {kPositions.str()};
    node.outputs = {positions};
    node.attributes.push_back(integer("to", static_cast<int64_t>(positionType)));
    graph.nodes.insert(graph.nodes.begin(), node);
  }
  // What made the logits makes those of all tokens.
  std::string all = result.logits + " of all tokens";
  for (Node &node : graph.nodes) {
    for (std::vector<std::string> *names : {&node.inputs, &node.outputs})
      for (std::string &name : *names)
        if (name == result.logits)
          name = all;
  }
  Node rows;
  rows.name = rows.opType = "LogitRows";
  rows.domain = kDecoderDomain.str();
  rows.inputs = {all, kRows.str()};
  rows.outputs = {result.logits};
  graph.nodes.push_back(rows);
  model.opsets[kDecoderDomain.str()] = 1;
}

/// Nothing that outputs depend on may read what is no longer there.
bool TokenIntroduction::checkRest() {
  StringSet<> needed;
  for (const ValueInfo &output : model.graph.outputs)
    needed.insert(output.name);
  StringSet<> gone;
  for (const std::string &name : {mask, positions})
    if (!name.empty())
      gone.insert(name);
  StringSet<> pasts;
  for (const Layer &layer : layers)
    for (const std::string &name : layer.past)
      pasts.insert(name);
  for (const Node &node : llvm::reverse(model.graph.nodes)) {
    if (llvm::none_of(node.outputs, [&](const std::string &name) { return needed.contains(name); }))
      continue;
    auto layer = llvm::find_if(layers, [&](const Layer &l) { return l.node == &node; });
    for (auto [i, name] : llvm::enumerate(node.inputs)) {
      // What the proofs took in place of the model's own.
      if (layer != layers.end()) {
        bool replaced = layer->grouped ? (i >= 3 && i <= 6) || i == 9 : i >= 3;
        if (replaced)
          continue;
      }
      if ((name == mask && !mask.empty()) || pasts.contains(name))
        return blockAt(node, "reads '" + name + "', and is no attention");
      needed.insert(name);
    }
    if (llvm::any_of(node.attributes, [](const NodeAttribute &a) { return a.graph != nullptr; }))
      return blockAt(node, "is control flow");
  }
  return true;
}

std::optional<Decoder> TokenIntroduction::run() {
  if (!findLayers() || !findPorts())
    return std::nullopt;
  result.layers = layers.size();
  if (!chooseSizes())
    return std::nullopt;
  for (Layer &layer : layers)
    if (!prove(layer))
      return std::nullopt;
  if (!checkRest())
    return std::nullopt;
  rewrite();
  return result;
}

std::optional<Decoder> import::introduceTokens(Model &model, ImportOptions &options, Diagnostics &diagnostics,
                                               std::string &blocker) {
  return TokenIntroduction(model, options, diagnostics, blocker).run();
}

static mlir::DictionaryAttr attributeOf(const Decoder &decoder, mlir::MLIRContext &context) {
  mlir::Builder b(&context);
  return b.getDictionaryAttr({b.getNamedAttr("token_ids", b.getStringAttr(decoder.tokenIds)),
                              b.getNamedAttr("logits", b.getStringAttr(decoder.logits)),
                              b.getNamedAttr("page_size", b.getI64IntegerAttr(decoder.pageSize)),
                              b.getNamedAttr("page_count", b.getI64IntegerAttr(decoder.pageCount)),
                              b.getNamedAttr("context", b.getI64IntegerAttr(decoder.context))});
}

ImportedModel import::importDecoder(Model &model, const ImportOptions &options, mlir::MLIRContext &context,
                                    Diagnostics &diagnostics) {
  ImportOptions own = options;
  std::string blocker;
  std::optional<Decoder> decoder = introduceTokens(model, own, diagnostics, blocker);
  if (!diagnostics.ok())
    return {};
  if (decoder)
    for (const auto &entry : options.dims) {
      diagnostics.report(Problem::Usage, "--dim " + entry.getKey() +
                                             ": a text decoder's dimensions come from --context, --max-sequences and "
                                             "--chunk; with --state none past and present stay tensors, and --dim "
                                             "bounds them");
      return {};
    }
  ImportedModel result = importAsItIs(model, own, context, diagnostics);
  if (!blocker.empty() && !diagnostics.ok())
    diagnostics.report(Problem::Usage,
                       "keys and values can't be the session's state, and stay plain tensors: " + blocker);
  result.decoderBlocker = std::move(blocker);
  if (result.module && decoder)
    result.module.get()->setAttr(graph::kDecoderAttr, attributeOf(*decoder, context));
  result.decoder = std::move(decoder);
  return result;
}
