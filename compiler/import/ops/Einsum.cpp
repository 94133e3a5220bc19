// Einsum: operands are contracted from left to right. A label that is no
// longer wanted is summed as soon as only one operand has it; two operands
// become a matrix product, or a plain product where they share no sum.
#include "compiler/import/NodeContext.h"
#include "compiler/import/ops/Contractions.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::GraphTensorType;
using graph::ReduceKind;

namespace {
/// One operand; `labels` names its dimensions, each once. Letters are the
/// equation's; '0' and up are the dimensions of an ellipsis, from the last.
struct Term {
  Value value;
  std::string labels;
  int64_t find(char label) const {
    size_t at = labels.find(label);
    return at == std::string::npos ? -1 : static_cast<int64_t>(at);
  }
};

class Contractor {
public:
  explicit Contractor(NodeContext &n) : n(n) {}
  LogicalResult run();

private:
  LogicalResult parse();
  LogicalResult expand(std::string &text, int64_t ellipsis);
  AffineExpr size(const Term &t, char label) { return n.typeOf(t.value).getDim(t.find(label)); }
  void diagonal(Term &t, size_t i, size_t j);
  LogicalResult agree();
  void sum(Term &t, StringRef wanted);
  void arrange(Term &t, StringRef labels);
  FailureOr<Term> multiply(Term a, Term b, StringRef wanted);

  NodeContext &n;
  SmallVector<Term> terms;
  std::string output;
};
} // namespace

/// Replaces "..." by digits for `ellipsis` dimensions.
LogicalResult Contractor::expand(std::string &text, int64_t ellipsis) {
  std::string labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      for (int64_t d = ellipsis; d-- > 0;)
        labels += static_cast<char>('0' + d);
      i += 2;
    } else if (llvm::isAlpha(text[i])) {
      labels += text[i];
    } else {
      return n.malformed("the equation has an unexpected '" + Twine(text[i]) + "'");
    }
  }
  text = labels;
  return success();
}

LogicalResult Contractor::parse() {
  std::string equation = n.getString("equation");
  llvm::erase_if(equation, [](char c) { return c == ' '; });
  auto [left, right] = StringRef(equation).split("->");
  bool stated = StringRef(equation).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != n.numInputs())
    return n.malformed("the equation has " + Twine(parts.size()) + " terms for " + Twine(n.numInputs()) + " inputs");
  int64_t widest = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (!n.has(i) || n.element(i) != n.element(0))
      return n.malformed("its operands must have one element type");
    Term term{n.in(i), part.str()};
    int64_t letters = llvm::count_if(part, [](char c) { return c != '.'; });
    int64_t ellipsis = part.contains("...") ? n.rank(i) - letters : 0;
    if (ellipsis < 0)
      return n.malformed("term " + Twine(i) + " has more labels than the operand dimensions");
    if (failed(expand(term.labels, ellipsis)))
      return failure();
    if (static_cast<int64_t>(term.labels.size()) != n.rank(i))
      return n.malformed("term " + Twine(i) + " must have one label per dimension");
    widest = std::max(widest, ellipsis);
    terms.push_back(term);
  }
  output = right.str();
  if (!stated) { // the ellipsis, then what appears once, in alphabetical order
    std::string all;
    for (StringRef part : parts)
      all += part;
    std::string once;
    for (char c : all)
      if (c != '.' && llvm::count(all, c) == 1)
        once += c;
    llvm::sort(once);
    output = "..." + once;
  }
  if (failed(expand(output, widest)))
    return failure();
  for (char label : output)
    if (llvm::count(output, label) > 1 || llvm::none_of(terms, [&](const Term &t) { return t.find(label) >= 0; }))
      return n.malformed("the equation's result names '" + Twine(label) + "' twice, or no operand does");
  return success();
}

/// Dimensions i < j of one size become one: elements size + 1 apart of both.
void Contractor::diagonal(Term &t, size_t i, size_t j) {
  GraphTensorType type = n.typeOf(t.value);
  SmallVector<int64_t> permutation;
  SmallVector<AffineExpr> shape;
  std::string labels;
  for (size_t d = 0; d < t.labels.size(); ++d)
    if (d != i && d != j) {
      permutation.push_back(d);
      shape.push_back(type.getDim(d));
      labels += t.labels[d];
    }
  permutation.append({static_cast<int64_t>(i), static_cast<int64_t>(j)});
  AffineExpr size = type.getDim(i);
  Value flat = n.transpose(t.value, permutation);
  shape.push_back(n.simplify(size * size));
  flat = n.reshape(flat, shape);
  Value step = n.dimension(n.simplify(size + 1), n.b.getI64Type());
  Value index = n.mul(n.iota({size}, 0), step);
  t.value = n.make<graph::GatherOp>(flat, index, static_cast<int64_t>(shape.size()) - 1);
  t.labels = labels + t.labels[i];
}

/// Brings equal labels to one size; a dimension of 1 beside another size
/// stretches, which is to leave it out.
LogicalResult Contractor::agree() {
  for (Term &t : terms)
    for (size_t i = 0; i < t.labels.size();) {
      size_t j = t.labels.find(t.labels[i], i + 1);
      if (j == std::string::npos) {
        ++i;
        continue;
      }
      GraphTensorType type = n.typeOf(t.value);
      if (!n.assumeEqual(type.getDim(i), type.getDim(j)))
        return n.malformed("label '" + Twine(t.labels[i]) + "' stands for " + n.print(type.getDim(i)) + " and " +
                           n.print(type.getDim(j)));
      if (type.getDim(i) == type.getDim(j)) {
        diagonal(t, i, j);
      } else {
        SmallVector<AffineExpr> shape(type.getShape());
        shape[j] = shape[i];
        t.value = n.reshape(t.value, shape);
        diagonal(t, i, j);
      }
      i = 0;
    }
  std::string all = output;
  for (const Term &t : terms)
    all += t.labels;
  for (char label : all) {
    AffineExpr joined;
    for (Term &t : terms)
      if (t.find(label) >= 0 && size(t, label) != 1 && !joined)
        joined = size(t, label);
    for (Term &t : terms) {
      int64_t at = t.find(label);
      if (at < 0 || !joined || size(t, label) == joined)
        continue;
      SmallVector<AffineExpr> shape(n.typeOf(t.value).getShape());
      if (shape[at] == 1) {
        shape.erase(shape.begin() + at);
        t.labels.erase(at, 1);
      } else if (n.assumeEqual(shape[at], joined)) {
        shape[at] = joined;
      } else {
        return n.malformed("label '" + Twine(label) + "' stands for " + n.print(joined) + " and " + n.print(shape[at]));
      }
      t.value = n.reshape(t.value, shape);
    }
  }
  return success();
}

/// Sums the labels not in `wanted`.
void Contractor::sum(Term &t, StringRef wanted) {
  SmallVector<int64_t> axes;
  SmallVector<AffineExpr> shape;
  std::string labels;
  for (auto [i, label] : llvm::enumerate(t.labels)) {
    if (wanted.contains(label)) {
      labels += label;
      shape.push_back(n.typeOf(t.value).getDim(i));
    } else {
      axes.push_back(i);
    }
  }
  if (axes.empty())
    return;
  t.value = n.reshape(n.reduce(ReduceKind::sum, t.value, axes), shape);
  t.labels = labels;
}

/// Permutes the dimensions to the order of `labels`, which names all.
void Contractor::arrange(Term &t, StringRef labels) {
  SmallVector<int64_t> permutation;
  for (char label : labels)
    permutation.push_back(t.find(label));
  t.value = n.transpose(t.value, permutation);
  t.labels = labels.str();
}

FailureOr<Term> Contractor::multiply(Term a, Term b, StringRef wanted) {
  // A label of one side only that nothing else wants.
  sum(a, (wanted + Twine(b.labels)).str());
  sum(b, (wanted + Twine(a.labels)).str());
  std::string batch, rows, columns, summed;
  for (char label : a.labels)
    (b.find(label) < 0 ? rows : wanted.contains(label) ? batch : summed) += label;
  for (char label : b.labels)
    if (a.find(label) < 0)
      columns += label;
  SmallVector<AffineExpr> batchShape, rowShape, columnShape;
  AffineExpr batches = n.dim(1), m = n.dim(1), k = n.dim(1), c = n.dim(1);
  for (char label : batch) {
    batchShape.push_back(size(a, label));
    batches = batches * size(a, label);
  }
  for (char label : rows) {
    rowShape.push_back(size(a, label));
    m = m * size(a, label);
  }
  for (char label : columns) {
    columnShape.push_back(size(b, label));
    c = c * size(b, label);
  }
  for (char label : summed)
    k = k * size(a, label);
  SmallVector<AffineExpr> shape(batchShape);
  shape.append(rowShape);
  shape.append(columnShape);
  if (static_cast<int64_t>(shape.size()) > GraphTensorType::kMaxRank)
    return n.unsupported("an intermediate result of more than 8 dimensions");
  batches = n.simplify(batches);
  m = n.simplify(m);
  k = n.simplify(k);
  c = n.simplify(c);
  arrange(a, batch + rows + summed);
  arrange(b, batch + summed + columns);
  bool product = summed.empty();
  Value left = n.reshape(a.value, {batches, m, product ? n.dim(1) : k});
  Value right = n.reshape(b.value, {batches, product ? n.dim(1) : k, c});
  if (product)
    return Term{n.reshape(n.mul(left, right), shape), batch + rows + columns};
  if (batches == 1) {
    left = n.reshape(left, {m, k});
    right = n.reshape(right, {k, c});
  }
  auto result = matmul(n, left, right);
  if (failed(result))
    return failure();
  return Term{n.reshape(*result, shape), batch + rows + columns};
}

LogicalResult Contractor::run() {
  if (graph::isBool(n.element(0)))
    return n.malformed("its operands must be numbers");
  if (failed(parse()) || failed(agree()))
    return failure();
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string wanted = output;
    for (size_t j = i + 1; j < terms.size(); ++j)
      wanted += terms[j].labels;
    auto next = multiply(result, terms[i], wanted);
    if (failed(next))
      return failure();
    result = *next;
  }
  sum(result, output);
  arrange(result, output);
  n.out(0, result.value);
  return success();
}

static LogicalResult einsum(NodeContext &n) { return Contractor(n).run(); }

void stint::import::addEinsum(RuleTable &t) { t.add("Einsum", 1, einsum); }
