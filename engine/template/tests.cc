#include "engine/template/tests.h"

#include "absl/container/flat_hash_map.h"
#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/filters.h"
#include "engine/template/methods.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

template <bool (Value::*kIs)() const>
absl::StatusOr<Value> Is(Heap&, const Value& self, const Bound&) {
  return Value::Bool((self.*kIs)());
}

absl::StatusOr<Value> IsDefined(Heap&, const Value& self, const Bound&) { return Value::Bool(!self.is_undefined()); }
absl::StatusOr<Value> IsTrueConstant(Heap&, const Value& self, const Bound&) {
  return Value::Bool(self.is_bool() && self.boolean());
}
absl::StatusOr<Value> IsFalseConstant(Heap&, const Value& self, const Bound&) {
  return Value::Bool(self.is_bool() && !self.boolean());
}
absl::StatusOr<Value> IsCallable(Heap&, const Value& self, const Bound&) {
  // Python's Undefined has a __call__, which fails: it counts.
  return Value::Bool(self.is_undefined() || (self.is_object() && self.object().callable()));
}
absl::StatusOr<Value> IsEscaped(Heap&, const Value& self, const Bound&) {
  return Value::Bool(self.is_string() && self.string().markup);
}

// Has a length and elements by index or key.
absl::StatusOr<Value> IsSequence(Heap&, const Value& self, const Bound&) {
  const bool has_items = self.is_string() || self.is_sequence() || self.is_dict() || self.is_undefined() ||
                         (self.is_object() && self.object().TypeName() == "range");
  return Value::Bool(has_items);
}

absl::StatusOr<Value> IsIterable(Heap&, const Value& self, const Bound&) {
  if (!self.is_object()) return Value::Bool(!self.is_number() && !self.is_none());
  return Value::Bool(self.object().iterable());
}

absl::StatusOr<Value> RemainderIs(Heap& heap, const Value& self, const Value& divisor, int64_t wanted) {
  ASSIGN_OR_RETURN(const Value remainder, Calculate(heap, Operator::kModulo, self, divisor));
  ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, remainder, Value::Integer(wanted)));
  return Value::Bool(equal);
}
absl::StatusOr<Value> IsOdd(Heap& heap, const Value& self, const Bound&) {
  return RemainderIs(heap, self, Value::Integer(2), 1);
}
absl::StatusOr<Value> IsEven(Heap& heap, const Value& self, const Bound&) {
  return RemainderIs(heap, self, Value::Integer(2), 0);
}
absl::StatusOr<Value> IsDivisible(Heap& heap, const Value& self, const Bound& arguments) {
  return RemainderIs(heap, self, arguments[0], 0);
}

template <Operator kComparison>
absl::StatusOr<Value> Compares(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const bool holds, Compare(heap, kComparison, self, arguments[0]));
  return Value::Bool(holds);
}

// Python's `is`: the same object. Equal small values are, as None, True and False always are.
absl::StatusOr<Value> IsSame(Heap& heap, const Value& self, const Bound& arguments) {
  const Value& other = arguments[0];
  if (self.kind() != other.kind()) return Value::Bool(false);
  if (self.is_sequence() || self.is_dict() || self.is_object() || self.is_undefined()) {
    return Value::Bool(self.identity() == other.identity());
  }
  ASSIGN_OR_RETURN(const bool equal, AreEqual(heap, self, other));
  return Value::Bool(equal);
}

absl::StatusOr<Value> CaseTest(Heap& heap, const Value& self, std::string_view method) {
  ASSIGN_OR_RETURN(Text text, ToText(heap, self));
  return CallBuiltin(heap, *FindMethod(Kind::kString, method), heap.String(std::move(text)), {});
}
absl::StatusOr<Value> IsLowerCase(Heap& heap, const Value& self, const Bound&) {
  return CaseTest(heap, self, "islower");
}
absl::StatusOr<Value> IsUpperCase(Heap& heap, const Value& self, const Bound&) {
  return CaseTest(heap, self, "isupper");
}

absl::StatusOr<Value> IsFilter(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(HashOf(heap, self).status());
  return Value::Bool(self.is_string() && FindFilter(self.bytes()) != nullptr);
}
absl::StatusOr<Value> IsTest(Heap& heap, const Value& self, const Bound&) {
  RETURN_IF_ERROR(HashOf(heap, self).status());
  return Value::Bool(self.is_string() && FindTest(self.bytes()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"defined", "", IsDefined},
    {"undefined", "", Is<&Value::is_undefined>},
    {"none", "", Is<&Value::is_none>},
    {"boolean", "", Is<&Value::is_bool>},
    {"integer", "", Is<&Value::is_integer>},
    {"float", "", Is<&Value::is_float>},
    {"number", "", Is<&Value::is_number>},
    {"string", "", Is<&Value::is_string>},
    {"mapping", "", Is<&Value::is_dict>},
    {"sequence", "", IsSequence},
    {"iterable", "", IsIterable},
    {"callable", "", IsCallable},
    {"true", "", IsTrueConstant},
    {"false", "", IsFalseConstant},
    {"escaped", "", IsEscaped},
    {"odd", "", IsOdd},
    {"even", "", IsEven},
    {"divisibleby", "num", IsDivisible},
    {"lower", "", IsLowerCase},
    {"upper", "", IsUpperCase},
    {"sameas", "other", IsSame},
    {"filter", "", IsFilter},
    {"test", "", IsTest},
    {"==", "other", Compares<Operator::kEqual>},
    {"eq", "other", Compares<Operator::kEqual>},
    {"equalto", "other", Compares<Operator::kEqual>},
    {"!=", "other", Compares<Operator::kNotEqual>},
    {"ne", "other", Compares<Operator::kNotEqual>},
    {"<", "other", Compares<Operator::kLess>},
    {"lt", "other", Compares<Operator::kLess>},
    {"lessthan", "other", Compares<Operator::kLess>},
    {"<=", "other", Compares<Operator::kLessOrEqual>},
    {"le", "other", Compares<Operator::kLessOrEqual>},
    {">", "other", Compares<Operator::kGreater>},
    {"gt", "other", Compares<Operator::kGreater>},
    {"greaterthan", "other", Compares<Operator::kGreater>},
    {">=", "other", Compares<Operator::kGreaterOrEqual>},
    {"ge", "other", Compares<Operator::kGreaterOrEqual>},
    {"in", "seq", Compares<Operator::kIn>},
};

}  // namespace

const Builtin* FindTest(std::string_view name) {
  using Tests = absl::flat_hash_map<std::string_view, const Builtin*>;
  static const Tests& tests = *[] {
    auto* all = new Tests;
    for (const Builtin& test : kTests) all->emplace(test.name, &test);
    return all;
  }();
  const auto found = tests.find(name);
  return found == tests.end() ? nullptr : found->second;
}

}  // namespace inferd::chat_template
