// Calculate and Compare of operators.h.
#include <cmath>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

absl::Status TooBig() { return InvalidArgument("an integer needs more than 64 bits"); }

std::string_view SpellingOf(Operator operation) {
  constexpr std::string_view kSpellings[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSpellings[static_cast<size_t>(operation)];
}

absl::Status Unsupported(Operator operation, const Value& left, const Value& right) {
  return InvalidArgument("unsupported operand type(s) for {}: '{}' and '{}'", SpellingOf(operation), left.TypeName(),
                         right.TypeName());
}

absl::StatusOr<Value> DivideIntegers(Operator operation, int64_t left, int64_t right) {
  if (right == 0) return InvalidArgument("division or modulo by zero");
  if (right == -1) {  // INT64_MIN / -1 does not fit
    int64_t negated = 0;
    if (operation == Operator::kModulo) return Value::Integer(0);
    if (__builtin_sub_overflow(int64_t{0}, left, &negated)) return TooBig();
    return Value::Integer(negated);
  }
  const int64_t remainder = left % right;
  const bool floors = remainder != 0 && (remainder < 0) != (right < 0);
  if (operation == Operator::kModulo) return Value::Integer(floors ? remainder + right : remainder);
  return Value::Integer(left / right - (floors ? 1 : 0));
}

absl::StatusOr<Value> CalculateFloats(Operator operation, double left, double right) {
  switch (operation) {
    case Operator::kAdd:
      return Value::Float(left + right);
    case Operator::kSubtract:
      return Value::Float(left - right);
    case Operator::kMultiply:
      return Value::Float(left * right);
    case Operator::kPower: {
      if (left == 0 && right < 0) return InvalidArgument("0.0 cannot be raised to a negative power");
      if (left < 0 && right != std::floor(right)) {
        return InvalidArgument("a negative number cannot be raised to a fractional power");
      }
      const double power = std::pow(left, right);
      if (std::isinf(power) && std::isfinite(left) && std::isfinite(right)) {
        return InvalidArgument("the result of '**' is too large");
      }
      return Value::Float(power);
    }
    default:
      break;
  }
  if (right == 0) return InvalidArgument("float division by zero");
  if (operation == Operator::kDivide) return Value::Float(left / right);
  double remainder = std::fmod(left, right);
  if (remainder != 0) {
    if ((remainder < 0) != (right < 0)) remainder += right;
  } else {
    remainder = std::copysign(0.0, right);
  }
  if (operation == Operator::kModulo) return Value::Float(remainder);
  const double quotient = (left - remainder) / right;
  const double floor = std::floor(quotient);
  return Value::Float(quotient - floor > 0.5 ? floor + 1 : floor);
}

absl::StatusOr<Value> CalculateIntegers(Operator operation, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (operation) {
    case Operator::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return TooBig();
      return Value::Integer(result);
    case Operator::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return TooBig();
      return Value::Integer(result);
    case Operator::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return TooBig();
      return Value::Integer(result);
    case Operator::kPower: {
      if (right < 0) return CalculateFloats(operation, static_cast<double>(left), static_cast<double>(right));
      const std::optional<int64_t> power = IntegerPower(left, right);
      if (!power) return TooBig();
      return Value::Integer(*power);
    }
    case Operator::kDivide:
      if (right == 0) return InvalidArgument("division by zero");
      return Value::Float(static_cast<double>(static_cast<long double>(left) / static_cast<long double>(right)));
    default:
      return DivideIntegers(operation, left, right);
  }
}

// Text + text; where one is markup the other is escaped.
absl::StatusOr<Value> JoinTexts(Heap& heap, const Value& left, const Value& right) {
  RETURN_IF_ERROR(heap.CheckString(left.text().size() + right.text().size()));
  const bool markup = left.string().markup || right.string().markup;
  if (!markup) {
    chat_template::Text text = left.text();
    text.Append(right.text());
    return heap.String(std::move(text));
  }
  ASSIGN_OR_RETURN(chat_template::Text text, ToMarkup(heap, left));
  ASSIGN_OR_RETURN(const chat_template::Text tail, ToMarkup(heap, right));
  RETURN_IF_ERROR(heap.CheckString(text.size() + tail.size()));
  text.Append(tail);
  return heap.String(std::move(text), true);
}

absl::StatusOr<Value> Add(Heap& heap, const Value& left, const Value& right) {
  if (left.is_string() && right.is_string()) return JoinTexts(heap, left, right);
  if (left.is_sequence() && left.kind() == right.kind()) {
    RETURN_IF_ERROR(heap.CheckElements(left.items().size() + right.items().size()));
    std::vector<Value> items;
    items.reserve(left.items().size() + right.items().size());
    items.insert(items.end(), left.items().begin(), left.items().end());
    items.insert(items.end(), right.items().begin(), right.items().end());
    return left.is_list() ? heap.List(std::move(items)) : heap.Tuple(std::move(items));
  }
  if (left.is_string() || left.is_sequence()) {
    return InvalidArgument("can only concatenate {0} (not \"{1}\") to {0}", left.TypeName(), right.TypeName());
  }
  return Unsupported(Operator::kAdd, left, right);
}

absl::StatusOr<Value> Repeat(Heap& heap, const Value& sequence, int64_t count) {
  const uint64_t times = count > 0 ? static_cast<uint64_t>(count) : 0;
  const uint64_t size = sequence.is_string() ? sequence.text().size() : sequence.items().size();
  uint64_t whole = 0;
  if (__builtin_mul_overflow(times, size, &whole)) whole = UINT64_MAX;
  if (sequence.is_string()) {
    RETURN_IF_ERROR(heap.CheckString(whole));
    chat_template::Text text;
    for (uint64_t i = 0; i < times && size > 0; ++i) text.Append(sequence.text());
    return heap.String(std::move(text), sequence.string().markup);
  }
  RETURN_IF_ERROR(heap.CheckElements(whole));
  std::vector<Value> items;
  items.reserve(whole);
  for (uint64_t i = 0; i < times && size > 0; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return sequence.is_list() ? heap.List(std::move(items)) : heap.Tuple(std::move(items));
}

}  // namespace

std::optional<int64_t> IntegerPower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

absl::StatusOr<Value> Calculate(Heap& heap, Operator operation, const Value& left, const Value& right) {
  if (operation == Operator::kModulo && left.is_string()) return FormatPercent(heap, left, right);
  if (left.is_undefined()) return UndefinedError(left);
  if (right.is_undefined()) return UndefinedError(right);
  if (left.is_whole() && right.is_whole()) return CalculateIntegers(operation, left.integer(), right.integer());
  if (left.is_number() && right.is_number()) return CalculateFloats(operation, left.number(), right.number());
  if (operation == Operator::kAdd) return Add(heap, left, right);
  if (operation == Operator::kMultiply) {
    if ((left.is_string() || left.is_sequence()) && right.is_whole()) return Repeat(heap, left, right.integer());
    if ((right.is_string() || right.is_sequence()) && left.is_whole()) return Repeat(heap, right, left.integer());
  }
  return Unsupported(operation, left, right);
}

absl::StatusOr<Value> Negate(const Value& value) {
  if (value.is_undefined()) return UndefinedError(value);
  if (value.is_float()) return Value::Float(-value.number());
  if (!value.is_whole()) return InvalidArgument("bad operand type for unary -: '{}'", value.TypeName());
  int64_t result = 0;
  if (__builtin_sub_overflow(int64_t{0}, value.integer(), &result)) return TooBig();
  return Value::Integer(result);
}

absl::StatusOr<bool> Compare(Heap& heap, Operator comparison, const Value& left, const Value& right) {
  const auto negated = [](absl::StatusOr<bool> result) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(result.status());
    return !*result;
  };
  // With a NaN neither a < b nor b < a, and <= is not the opposite of >.
  const auto less_or_equal = [&heap](const Value& a, const Value& b) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const bool less, IsLess(heap, a, b));
    if (less) return true;
    return AreEqual(heap, a, b);
  };
  switch (comparison) {
    case Operator::kEqual:
      return AreEqual(heap, left, right);
    case Operator::kNotEqual:
      return negated(AreEqual(heap, left, right));
    case Operator::kLess:
      return IsLess(heap, left, right);
    case Operator::kGreater:
      return IsLess(heap, right, left);
    case Operator::kLessOrEqual:
      return less_or_equal(left, right);
    case Operator::kGreaterOrEqual:
      return less_or_equal(right, left);
    case Operator::kIn:
      return Contains(heap, right, left);
    default:
      return negated(Contains(heap, right, left));
  }
}

}  // namespace inferd::chat_template
