// Operators on texts as numbers: TfIdfVectorizer.
#include "compiler/import/NodeContext.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;

namespace {
/// An n-gram of the pool and where it is counted.
struct Gram {
  ArrayRef<int64_t> words;
  int64_t column;
  float weight;
};
} // namespace

/// Grams between the shortest and the longest wanted size, sorted by size, then
/// words.
static FailureOr<SmallVector<Gram>> gramsOf(NodeContext &n, ArrayRef<int64_t> pool) {
  auto starts = n.getInts("ngram_counts"), columns = n.getInts("ngram_indexes");
  int64_t shortest = n.getInt("min_gram_length", 1), longest = n.getInt("max_gram_length", 1);
  const NodeAttribute *weights = n.attribute("weights");
  if (!starts || !columns || shortest < 1 || longest < shortest)
    return n.malformed("attributes are missing or do not fit each other");
  SmallVector<Gram> grams;
  size_t number = 0;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t size = i + 1, begin = (*starts)[i], last = pool.size();
    int64_t end = i + 1 < starts->size() ? (*starts)[i + 1] : last;
    if (begin < 0 || end < begin || end > last || (end - begin) % size != 0)
      return n.malformed("ngram_counts does not fit the pool");
    for (; begin < end; begin += size, ++number) {
      if (number >= columns->size() || (*columns)[number] < 0 ||
          (weights && !weights->floats.empty() && number >= weights->floats.size()))
        return n.malformed("ngram_indexes or weights do not fit the pool");
      float weight = weights && !weights->floats.empty() ? weights->floats[number] : 1;
      if (size >= shortest && size <= longest)
        grams.push_back({pool.slice(begin, size), (*columns)[number], weight});
    }
  }
  llvm::stable_sort(grams, [](const Gram &a, const Gram &b) {
    if (a.words.size() != b.words.size())
      return a.words.size() < b.words.size();
    return std::lexicographical_compare(a.words.begin(), a.words.end(), b.words.begin(), b.words.end());
  });
  return grams;
}

static LogicalResult tfIdfVectorizer(NodeContext &n) {
  auto pool = n.getInts("pool_int64s");
  std::string mode = n.getString("mode", "TF");
  if (!pool)
    return n.unsupported(
        "a pool of strings: there are no tensors of strings; look words up outside the model, and give their numbers");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return n.malformed("mode '" + mode + "' does not exist");
  if (n.rank(0) < 1 || n.rank(0) > 2 || !graph::isIndex(n.element(0)))
    return n.malformed("the input must be one or two dimensions of integers");
  int64_t skip = n.getInt("max_skip_count", 0);
  auto grams = gramsOf(n, *pool);
  if (failed(grams) || skip < 0 || skip > int64_t(1) << 32)
    return failed(grams) ? failure() : n.malformed("max_skip_count is out of range");
  int64_t width = 0;
  auto indexes = n.getInts("ngram_indexes");
  for (int64_t column : *indexes)
    width = std::max(width, column + 1);
  SmallVector<int64_t> sizes, words, columns;
  SmallVector<float> weights;
  for (const Gram &gram : *grams) {
    sizes.push_back(gram.words.size());
    words.append(gram.words.begin(), gram.words.end());
    columns.push_back(gram.column);
    weights.push_back(mode == "TF" ? 1 : gram.weight);
  }
  int64_t count = grams->size(), wordCount = words.size();
  GraphTensorType type = n.type(0).withElementType(n.b.getF32Type());
  SmallVector<AffineExpr> shape(type.getShape());
  shape.back() = n.dim(width);
  std::string name = n.node.label().str() + ".";
  n.out(0, n.leaf("tf_idf",
                  {n.cast(n.in(0), n.b.getI64Type()), n.weightI64(sizes, count, name + "sizes"),
                   n.weightI64(words, wordCount, name + "grams"), n.weightI64(columns, count, name + "columns"),
                   n.weightF32(weights, count, name + "weights")},
                  n.shaped(type, shape), {skip, mode == "IDF"}, {}, n.rank(0) - 1)[0]);
  return success();
}

void stint::import::addTexts(RuleTable &t) { t.add("TfIdfVectorizer", 1, tfIdfVectorizer); }
