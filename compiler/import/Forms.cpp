// Forms of values, and how two of them join: see the header of that name.
#include "compiler/import/Forms.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;

Form Form::of(const Operand &operand, const graph::Symbols &symbols) {
  Form form;
  if (operand.type) {
    form.kind = Kind::Tensor;
    form.element = operand.type.getElementType();
    form.shape.assign(operand.type.getShape().begin(), operand.type.getShape().end());
    for (AffineExpr dim : form.shape)
      form.most.push_back(symbols.upper(dim));
  } else if (operand.list) {
    form.kind = Kind::List;
    for (const Operand *element : *operand.list)
      form.parts.push_back(of(*element, symbols));
  } else if (operand.sequence) {
    form.kind = Kind::Sequence;
    form.element = operand.sequence->data->type.getElementType();
    form.shape = operand.sequence->shape;
    form.most = operand.sequence->most;
  } else if (operand.optional) {
    form.kind = Kind::Optional;
    form.parts.push_back(of(*operand.optional->value, symbols));
  }
  return form;
}

bool Form::operator==(const Form &other) const {
  if (kind != other.kind || element != other.element || parts != other.parts || shape.size() != other.shape.size())
    return false;
  return kind != Kind::Sequence || (shape == other.shape && most == other.most);
}

size_t Form::lead() const {
  size_t lead = shape.size();
  while (lead > 0 && shape[lead - 1])
    --lead;
  return lead;
}

int64_t Form::mostRows() const {
  int64_t rows = 1;
  for (int64_t size : ArrayRef<int64_t>(most).take_front(lead()))
    if (llvm::MulOverflow(rows, std::max<int64_t>(size, 0), rows))
      return INT64_MAX;
  return rows;
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Widens `sequence`, or makes it the first time, so that tensors of `one`'s
/// shape (a tensor's, or that of a sequence's tensors) can be in it.
static bool widen(std::optional<Form> &sequence, const Form &one, llvm::function_ref<bool(AffineExpr)> local,
                  const graph::Symbols &symbols, std::string &why) {
  if (one.kind != Form::Kind::Tensor && one.kind != Form::Kind::Sequence) {
    why = "its tensors are known only while the model runs, and it holds something else than tensors";
    return false;
  }
  if (static_cast<int64_t>(one.shape.size()) >= graph::GraphTensorType::kMaxRank) {
    why = "tensors of a sequence whose length the run decides have at most 7 dimensions";
    return false;
  }
  if (!sequence) {
    sequence = one;
    sequence->kind = Form::Kind::Sequence;
  }
  if (sequence->element != one.element || sequence->shape.size() != one.shape.size()) {
    why = "a sequence whose length is known only while the model runs holds tensors of one type and rank, not " +
          print(sequence->element) + " of rank " + std::to_string(sequence->shape.size()) + " and " +
          print(one.element) + " of rank " + std::to_string(one.shape.size());
    return false;
  }
  for (size_t i = 0; i < one.shape.size(); ++i) {
    AffineExpr &dim = sequence->shape[i];
    if (dim && (!one.shape[i] || symbols.equal(dim, one.shape[i]) != true || local(dim)))
      dim = AffineExpr();
    sequence->most[i] = std::max(sequence->most[i], one.most[i]);
  }
  return true;
}

std::optional<Form> stint::import::join(const Form &a, const Form &b, llvm::function_ref<bool(AffineExpr)> local,
                                        const graph::Symbols &symbols, std::string &why) {
  using Kind = Form::Kind;
  if (a.kind == Kind::None && b.kind == Kind::None)
    return a;
  auto is = [&](Kind kind) { return a.kind == kind || b.kind == kind; };
  if (is(Kind::None) || is(Kind::Optional)) {
    auto value = [](const Form &form) { return form.kind == Kind::Optional ? form.parts.front() : form; };
    Form optional;
    optional.kind = Kind::Optional;
    Form x = value(a), y = value(b);
    auto joined = join(x.kind == Kind::None ? y : x, y.kind == Kind::None ? x : y, local, symbols, why);
    if (!joined)
      return std::nullopt;
    optional.parts.push_back(*joined);
    return optional;
  }
  if (a.kind == Kind::Tensor && b.kind == Kind::Tensor) {
    if (a.element == b.element && a.shape.size() == b.shape.size())
      return a;
    why = "tensors of one element type and rank are needed";
    return std::nullopt;
  }
  if (is(Kind::Tensor)) {
    why = "it is a tensor in one case and a sequence in the other";
    return std::nullopt;
  }
  if (a.kind == Kind::List && b.kind == Kind::List && a.parts.size() == b.parts.size()) {
    Form list = a;
    bool fits = true;
    std::string ignored;
    for (size_t i = 0; i < a.parts.size() && fits; ++i) {
      auto part = join(a.parts[i], b.parts[i], local, symbols, ignored);
      fits = part.has_value();
      if (fits)
        list.parts[i] = *part;
    }
    if (fits)
      return list;
  }
  std::optional<Form> sequence;
  for (const Form *form : {&a, &b})
    for (const Form &one : form->kind == Kind::List ? form->parts : std::vector<Form>{*form})
      if (!widen(sequence, one, local, symbols, why))
        return std::nullopt;
  for (AffineExpr &dim : sequence->shape)
    if (dim && local(dim))
      dim = AffineExpr();
  return sequence;
}
