// RuntimeSequences: see the header of that name.
#include "compiler/import/RuntimeSequences.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace stint;
using namespace stint::import;
using graph::ComparePredicate;
using graph::GraphTensorType;
using graph::ReduceKind;

std::string RuntimeSequences::about(const Twine &what) {
  return (what + " of " + n.node.opType + " '" + n.node.label() + "'").str();
}

// Small pieces.

AffineExpr RuntimeSequences::rowsOf(ArrayRef<AffineExpr> shape, size_t lead) {
  AffineExpr rows = n.dim(1);
  for (AffineExpr dim : shape.take_front(lead))
    rows = rows * dim;
  return n.simplify(rows);
}

SmallVector<AffineExpr> RuntimeSequences::dataShape(const Form &form, AffineExpr rows) {
  SmallVector<AffineExpr> shape = {rows};
  shape.append(form.shape.begin() + form.lead(), form.shape.end());
  return shape;
}

Value RuntimeSequences::empty(Type element, ArrayRef<AffineExpr> shape) {
  SmallVector<AffineExpr> ones(shape.size(), n.dim(1));
  return n.broadcast(n.reshape(n.scalar(element, 0), ones), shape);
}

Value RuntimeSequences::concatenated(ArrayRef<Value> values, int64_t axis) {
  return values.size() == 1 ? values[0] : n.make<graph::ConcatOp>(ValueRange(values), axis);
}

Value RuntimeSequences::sliced(Value value, AffineExpr start, AffineExpr size, int64_t axis) {
  SmallVector<AffineExpr> starts(n.typeOf(value).getRank(), n.dim(0)), shape(n.typeOf(value).getShape());
  starts[axis] = start;
  shape[axis] = n.simplify(size);
  return n.slice(value, starts, shape);
}

Value RuntimeSequences::integers(ArrayRef<AffineExpr> values, ArrayRef<AffineExpr> shape) {
  Value flat = n.make<graph::DimensionsOp>(GraphTensorType::get({n.dim(values.size())}, n.b.getI64Type()),
                                           AffineMapAttr::get(graph::symbolMap(values, n.context())));
  return n.reshape(flat, shape);
}

AffineExpr RuntimeSequences::bound(Value value, const Twine &name, int64_t lower, int64_t upper, AffineExpr most) {
  AffineExpr symbol = importer.newSymbol(name.str(), lower, std::max(lower, upper), most);
  n.b.create<graph::BindOp>(n.loc, cast<AffineSymbolExpr>(symbol).getPosition(), n.reshape(value, {}), AffineMapAttr());
  return symbol;
}

AffineExpr RuntimeSequences::notNegative(AffineExpr expr, const Twine &what) {
  expr = n.simplify(expr);
  graph::Range range = n.symbols.range(expr);
  return range.lower >= 0 ? expr : bound(n.dimension(expr, n.b.getI64Type()), about(what), 0, range.upper);
}

// Bringing to a form.

LocalSequence RuntimeSequences::bring(Operand &operand, const Form &form) {
  LocalSequence result;
  result.form = form;
  size_t lead = form.lead();
  if (operand.sequence) {
    const RuntimeSequence &from = *operand.sequence;
    result.form = Form::of(operand, n.symbols);
    result.data = importer.materialise(*from.data, n.loc);
    result.sizes = from.sizes ? importer.materialise(*from.sizes, n.loc) : Value();
    result.length = from.length();
    return widen(result, form);
  }
  SmallVector<Value> rows;
  SmallVector<AffineExpr> sizes;
  for (Operand *element : *operand.list) {
    Value value = importer.materialise(*element, n.loc);
    ArrayRef<AffineExpr> shape = n.typeOf(value).getShape();
    rows.push_back(n.reshape(value, dataShape(form, rowsOf(shape, lead))));
    for (size_t i = 0; i < shape.size(); ++i)
      if (!form.shape[i])
        sizes.push_back(shape[i]);
  }
  result.length = n.dim(rows.size());
  result.data = rows.empty() ? empty(form.element, dataShape(form, n.dim(0))) : concatenated(rows, 0);
  SmallVector<AffineExpr> table = {result.length, n.dim(form.varying())};
  if (lead)
    result.sizes = rows.empty() ? empty(n.b.getI64Type(), table) : integers(sizes, table);
  return result;
}

LocalSequence RuntimeSequences::widen(LocalSequence sequence, const Form &form) {
  Form before = sequence.form;
  sequence.form = form;
  if (before.shape == form.shape)
    return sequence;
  size_t lead = form.lead(), leadBefore = before.lead();
  AffineExpr rows = n.typeOf(sequence.data).getDim(0);
  for (size_t i = leadBefore; i < lead; ++i)
    rows = rows * before.shape[i];
  sequence.data = n.reshape(sequence.data, dataShape(form, n.simplify(rows)));
  SmallVector<Value> columns;
  LocalSequence old = sequence;
  old.form = before;
  for (size_t i = 0; i < form.shape.size(); ++i)
    if (!form.shape[i])
      columns.push_back(n.reshape(column(old, i), {sequence.length, n.dim(1)}));
  if (lead)
    sequence.sizes = concatenated(columns, 1);
  return sequence;
}

Operand *RuntimeSequences::unpack(const Form &form, Value sizes, Value data, StringRef name) {
  Operand *operand = importer.newOperand(name);
  operand->sequence = std::make_shared<RuntimeSequence>();
  operand->sequence->data = importer.computed(name, data);
  if (sizes)
    operand->sequence->sizes = importer.computed(name, sizes);
  operand->sequence->shape = form.shape;
  operand->sequence->most = form.most;
  return operand;
}

Operand *RuntimeSequences::give(const LocalSequence &sequence, StringRef name) {
  return unpack(sequence.form, sequence.sizes, sequence.data, name);
}

// Taking apart and putting together.

FailureOr<AffineExpr> RuntimeSequences::position(size_t i, AffineExpr size, AffineExpr length) {
  const Known *known = n.known(i);
  AffineExpr expr = known && known->elements.size() == 1 ? known->elements[0].expr : AffineExpr();
  Value value;
  if (expr) {
    graph::Range range = n.symbols.range(expr);
    if (range.upper < 0)
      expr = n.simplify(length + expr);
    AffineExpr most = expr;
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      if (AffineMap map = n.symbols[symbol.getPosition()].getBound())
        most = map.getResult(0);
    bool starts = n.symbols.range(expr).lower >= 0;
    if (starts && (n.symbols.lessEqual(expr, size - 1) == true || n.symbols.lessEqual(most, size - 1) == true))
      return expr;
    value = n.dimension(expr, n.b.getI64Type());
    if (range.upper < 0 || range.lower >= 0)
      expr = {};
  } else {
    if (!n.has(i) || !n.type(i) || !graph::isIndex(n.element(i)) || !(n.type(i).getNumElements() == 1))
      return n.malformed("its position must be one integer");
    value = n.cast(n.reshape(n.in(i), {}), n.b.getI64Type());
    expr = n.dim(-1); // may be negative
  }
  Value zero = n.scalarLike(value, 0), end = n.dimension(size, n.b.getI64Type());
  if (expr)
    value = n.select(n.compare(ComparePredicate::lt, value, zero), n.add(value, n.dimension(length, n.b.getI64Type())),
                     value);
  Value inside =
      n.make<graph::AndOp>(n.compare(ComparePredicate::ge, value, zero), n.compare(ComparePredicate::lt, value, end));
  n.require(inside, "a position inside the sequence");
  return bound(value, about("position"), 0, n.symbols.upper(size) - 1, size);
}

LocalSequence RuntimeSequences::slice(const LocalSequence &sequence, AffineExpr start, AffineExpr length) {
  LocalSequence part = sequence;
  part.length = n.simplify(length);
  if (!sequence.sizes) {
    part.data = sliced(sequence.data, start, length);
    return part;
  }
  AffineExpr from = rowsBefore(sequence, start), to = rowsBefore(sequence, n.simplify(start + length));
  part.sizes = sliced(sequence.sizes, start, length);
  part.data = sliced(sequence.data, from, notNegative(to - from, "number of rows"));
  return part;
}

LocalSequence RuntimeSequences::join(ArrayRef<LocalSequence> sequences) {
  LocalSequence result = sequences[0];
  SmallVector<Value> data, sizes;
  result.length = n.dim(0);
  for (const LocalSequence &sequence : sequences) {
    data.push_back(sequence.data);
    sizes.push_back(sequence.sizes);
    result.length = result.length + sequence.length;
  }
  result.length = n.simplify(result.length);
  auto joined = [&](ArrayRef<Value> values) {
    Value value = concatenated(values, 0);
    SmallVector<AffineExpr> shape(n.typeOf(value).getShape());
    shape[0] = n.simplify(shape[0]);
    return n.reshape(value, shape);
  };
  result.data = joined(data);
  if (result.sizes)
    result.sizes = joined(sizes);
  return result;
}

Value RuntimeSequences::column(const LocalSequence &sequence, size_t axis) {
  if (AffineExpr size = sequence.form.shape[axis])
    return n.broadcast(n.reshape(n.dimension(size, n.b.getI64Type()), {n.dim(1)}), {sequence.length});
  size_t before = llvm::count(ArrayRef<AffineExpr>(sequence.form.shape).take_front(axis), AffineExpr());
  return n.reshape(sliced(sequence.sizes, n.dim(before), n.dim(1), 1), {sequence.length});
}

Value RuntimeSequences::shapes(const LocalSequence &sequence) {
  SmallVector<Value> columns;
  for (size_t i = 0; i < sequence.form.shape.size(); ++i)
    columns.push_back(n.reshape(column(sequence, i), {sequence.length, n.dim(1)}));
  return columns.empty() ? empty(n.b.getI64Type(), {sequence.length, n.dim(0)}) : concatenated(columns, 1);
}

/// Rows of `data` before the tensor at `position`.
AffineExpr RuntimeSequences::rowsBefore(const LocalSequence &sequence, AffineExpr position) {
  if (position == 0)
    return n.dim(0);
  AffineExpr all = n.typeOf(sequence.data).getDim(0);
  if (n.same(position, sequence.length))
    return all;
  LocalSequence before = sequence;
  before.length = position;
  before.sizes = sliced(sequence.sizes, n.dim(0), position);
  Value rows;
  for (size_t i = 0; i < sequence.form.lead(); ++i)
    rows = rows ? n.mul(rows, column(before, i)) : column(before, i);
  return bound(n.reduce(ReduceKind::sum, rows, {0}), about("rows before the position"), 0, n.symbols.upper(all), all);
}

Value RuntimeSequences::at(const LocalSequence &sequence, AffineExpr position) {
  if (!sequence.sizes)
    return n.reshape(sliced(sequence.data, position, n.dim(1)), sequence.form.shape);
  AffineExpr start = rowsBefore(sequence, position);
  SmallVector<AffineExpr> shape = sequence.form.shape;
  LocalSequence one = sequence;
  one.length = n.dim(1);
  one.sizes = sliced(sequence.sizes, position, n.dim(1));
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i])
      shape[i] = bound(column(one, i), about("axis " + Twine(i) + " of the result"), 0, sequence.form.most[i]);
  return n.reshape(sliced(sequence.data, start, rowsOf(shape, sequence.form.lead())), shape);
}

// Joining.

/// The size that dimension `axis` of all tensors has, or the run ends with an
/// error.
AffineExpr RuntimeSequences::oneSize(const LocalSequence &sequence, size_t axis) {
  Value sizes = column(sequence, axis), zero = n.scalarLike(sizes, 0);
  Value size = n.max(n.reshape(n.reduce(ReduceKind::max, sizes, {0}), {}), zero);
  Value apart = n.reduce(ReduceKind::max, n.make<graph::AbsOp>(n.sub(sizes, size)), {0});
  bound(n.max(n.reshape(apart, {}), zero),
        about("difference between the sizes of axis " + Twine(axis) + " of the tensors"), 0, 0);
  return bound(size, about("axis " + Twine(axis) + " of the result"), 0, sequence.form.most[axis]);
}

Value RuntimeSequences::endsOf(Value sizes, AffineExpr parts) {
  Value mine = n.iota({parts, n.dim(1)}, 0), other = n.iota({n.dim(1), parts}, 1);
  Value upTo = n.compare(ComparePredicate::ge, mine, other);
  Value row = n.reshape(sizes, {n.dim(1), parts});
  Value sum = n.reduce(ReduceKind::sum, n.select(upTo, row, n.scalarLike(row, 0)), {1});
  return n.reshape(sum, {parts});
}

Value RuntimeSequences::partOf(Value ends, AffineExpr parts, AffineExpr total) {
  Value place = n.iota({total, n.dim(1)}, 0);
  Value ended = n.compare(ComparePredicate::le, n.reshape(ends, {n.dim(1), parts}), place);
  return n.reshape(n.reduce(ReduceKind::sum, n.cast(ended, n.b.getI64Type()), {1}), {total});
}

Value RuntimeSequences::concat(const LocalSequence &sequence, int64_t axis, bool stack) {
  SmallVector<AffineExpr> shape = sequence.form.shape;
  size_t lead = sequence.form.lead();
  AffineExpr length = sequence.length, total; // of the axis, where tensors differ in it
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i])
      continue;
    if (stack || static_cast<int64_t>(i) != axis) {
      shape[i] = oneSize(sequence, i);
    } else if (lead == 1) {
      total = n.typeOf(sequence.data).getDim(0);
    } else {
      int64_t most = sequence.form.most[i], count = n.symbols.upper(length), upper;
      upper = llvm::MulOverflow(most, count, upper) ? INT64_MAX : upper;
      total = bound(n.reduce(ReduceKind::sum, column(sequence, i), {0}), about("axis " + Twine(i) + " of the result"),
                    0, upper);
    }
  }
  int64_t rank = shape.size();
  if (!total) {
    // [length, shape…], the length to where it belongs.
    SmallVector<AffineExpr> stacked = {length};
    stacked.append(shape);
    Value value = n.reshape(sequence.data, stacked);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank + 1));
    order.insert(order.begin() + axis, 0);
    value = n.transpose(value, order);
    if (stack)
      return value;
    shape[axis] = n.simplify(length * shape[axis]);
    return n.reshape(value, shape);
  }
  SmallVector<AffineExpr> result = shape;
  result[axis] = total;
  AffineExpr before = rowsOf(result, axis);
  if (before == 1)
    return n.reshape(sequence.data, result);
  // Each tensor is [before, its own size, the rest]: rows of the rest by where
  // they come from.
  SmallVector<AffineExpr> flat = {n.simplify(before * total)};
  flat.append(result.begin() + axis + 1, result.end());
  Value rows = n.reshape(sequence.data, flat);
  Value own = column(sequence, axis), ends = endsOf(own, length), starts = n.sub(ends, own);
  Value part = partOf(ends, length, total);
  auto line = [&](Value v) { return n.reshape(v, {n.dim(1), total}); };
  Value size = line(n.make<graph::GatherOp>(own, part, 0)), start = line(n.make<graph::GatherOp>(starts, part, 0));
  Value outer = n.iota({before, n.dim(1)}, 0), inner = n.iota({n.dim(1), total}, 1);
  Value index =
      n.add(n.add(n.mul(outer, size), n.mul(start, n.dimension(n.simplify(before - 1), n.b.getI64Type()))), inner);
  return n.reshape(n.make<graph::GatherOp>(rows, n.reshape(index, {flat[0]}), 0), result);
}

LocalSequence RuntimeSequences::split(Value input, int64_t axis, Value sizes, int64_t most) {
  GraphTensorType type = n.typeOf(input);
  LocalSequence result;
  result.form.kind = Form::Kind::Sequence;
  result.form.element = type.getElementType();
  result.form.shape.assign(type.getShape().begin(), type.getShape().end());
  for (AffineExpr dim : type.getShape())
    result.form.most.push_back(n.symbols.upper(dim));
  AffineExpr total = type.getDim(axis), before = rowsOf(type.getShape(), axis);
  result.form.shape[axis] = AffineExpr();
  result.form.most[axis] = std::min(most, result.form.most[axis]);
  result.length = n.typeOf(sizes).getDim(0);
  result.sizes = n.reshape(sizes, {result.length, n.dim(1)});
  AffineExpr rows = n.simplify(before * total);
  Value flat = n.reshape(input, dataShape(result.form, rows));
  if (!(before == 1)) {
    // Row r of the data: which part it is in, and where in there.
    Value ends = endsOf(sizes, result.length), starts = n.sub(ends, sizes);
    Value many = n.dimension(before, n.b.getI64Type()), all = n.dimension(total, n.b.getI64Type());
    Value part = partOf(n.mul(ends, many), result.length, rows);
    Value start = n.make<graph::GatherOp>(starts, part, 0), size = n.make<graph::GatherOp>(sizes, part, 0);
    Value inside = n.sub(n.iota({rows}, 0), n.mul(start, many));
    Value outer = n.div(inside, n.max(size, n.scalarLike(size, 1)));
    Value column = n.add(start, n.sub(inside, n.mul(outer, size)));
    flat = n.make<graph::GatherOp>(flat, n.add(n.mul(outer, all), column), 0);
  }
  result.data = flat;
  return result;
}
