// Filters of single values: defaults, numbers, lengths, attributes.
#include <cmath>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/filters.h"
#include "engine/template/format_spec.h"
#include "engine/template/number.h"
#include "engine/template/operators.h"
#include "engine/template/print.h"

namespace inferd::chat_template {
namespace {

absl::StatusOr<Value> Default(Heap& heap, const Value& self, const Bound& arguments) {
  const bool replaces = self.is_undefined() || (arguments.Truth(1, false) && !IsTrue(self));
  if (!replaces) return self;
  return arguments.Has(0) ? arguments[0] : heap.String("");
}

absl::StatusOr<Value> Length(Heap&, const Value& self, const Bound&) {
  ASSIGN_OR_RETURN(const int64_t length, LengthOf(self));
  return Value::Integer(length);
}

absl::StatusOr<Value> Absolute(Heap&, const Value& self, const Bound&) {
  if (self.is_undefined()) return UndefinedError(self);
  if (self.is_float()) return Value::Float(std::abs(self.number()));
  if (!self.is_whole()) return InvalidArgument("bad operand type for abs(): '{}'", self.TypeName());
  return self.integer() < 0 ? Negate(self) : Value::Integer(self.integer());
}

// int(value, base), then int(float(value)), then the default: "42.23"|int is 42.
absl::StatusOr<Value> ToInteger(Heap& heap, const Value& self, const Bound& arguments) {
  const Value otherwise = arguments.Has(0) ? arguments[0] : Value::Integer(0);
  ASSIGN_OR_RETURN(const int64_t base, arguments.Integer(1, 10));
  if (self.is_undefined()) return UndefinedError(self);
  if (self.is_whole()) return Value::Integer(self.integer());
  if (self.is_float()) {
    if (!std::isfinite(self.number())) return otherwise;
    ASSIGN_OR_RETURN(const int64_t whole, Truncate(self.number()));
    return Value::Integer(whole);
  }
  if (!self.is_string()) return otherwise;
  RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
  if (base == 0 || (base >= 2 && base <= 36)) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> whole, ParseInteger(self.bytes(), static_cast<int>(base)));
    if (whole) return Value::Integer(*whole);
  }
  const std::optional<double> real = ParseFloat(self.bytes());
  if (!real || !std::isfinite(*real)) return otherwise;
  ASSIGN_OR_RETURN(const int64_t whole, Truncate(*real));
  return Value::Integer(whole);
}

absl::StatusOr<Value> ToFloat(Heap& heap, const Value& self, const Bound& arguments) {
  if (self.is_undefined()) return UndefinedError(self);
  if (self.is_number()) return Value::Float(self.number());
  if (self.is_string()) {
    RETURN_IF_ERROR(heap.CheckString(self.bytes().size()));
    if (const std::optional<double> real = ParseFloat(self.bytes())) return Value::Float(*real);
  }
  return arguments.Has(0) ? arguments[0] : Value::Float(0);
}

// round() of an integer is an integer; a negative precision rounds before the point.
absl::StatusOr<Value> RoundCommon(const Value& self, int64_t precision) {
  if (self.is_float()) return Value::Float(RoundTo(self.number(), precision));
  if (precision >= 0) return Value::Integer(self.integer());
  const std::optional<int64_t> unit = IntegerPower(10, -precision);
  if (!unit) return Value::Integer(0);
  const int64_t value = self.integer();
  const int64_t floor = value / *unit - (value % *unit < 0 ? 1 : 0);
  const int64_t rest = value - floor * *unit;
  const bool up = rest > *unit - rest || (rest == *unit - rest && floor % 2 != 0);
  int64_t result = 0;
  if (__builtin_mul_overflow(floor + (up ? 1 : 0), *unit, &result)) {
    return InvalidArgument("an integer needs more than 64 bits");
  }
  return Value::Integer(result);
}

absl::StatusOr<Value> Round(Heap&, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const int64_t precision, arguments.Integer(0, 0));
  ASSIGN_OR_RETURN(const Value* method_value, arguments.String(1));
  const std::string method = method_value == nullptr ? "common" : method_value->bytes();
  if (method != "common" && method != "ceil" && method != "floor") {
    return InvalidArgument("method must be common, ceil or floor");
  }
  if (self.is_undefined()) return UndefinedError(self);
  if (!self.is_number()) return InvalidArgument("type {} doesn't define __round__ method", self.TypeName());
  if (method == "common") return RoundCommon(self, precision);
  if (precision > 300 || precision < -300) return InvalidArgument("a precision of {} is too large", precision);
  // As jinja2: ceil or floor of value * 10 ** precision, an integer, divided again.
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.number() * unit;
  ASSIGN_OR_RETURN(const int64_t whole, Truncate(method == "ceil" ? std::ceil(scaled) : std::floor(scaled)));
  return Value::Float(static_cast<double>(whole) / unit);
}

absl::StatusOr<Value> FileSize(Heap& heap, const Value& self, const Bound& arguments) {
  const Arguments none;
  ASSIGN_OR_RETURN(const Value number, ToFloat(heap, self, Bound(none)));
  if (!self.is_number() && !(self.is_string() && ParseFloat(self.bytes()))) {
    return InvalidArgument("could not convert {} to float", self.TypeName());
  }
  const bool binary = arguments.Truth(0, false);
  const double base = binary ? 1024 : 1000;
  const double bytes = number.number();
  if (bytes == 1) return heap.String("1 Byte");
  if (bytes < base) {
    ASSIGN_OR_RETURN(const int64_t whole, Truncate(bytes));
    return heap.String(fmt::format("{} Bytes", whole));
  }
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base * base;
  size_t place = 0;
  while (bytes >= unit && place + 1 < kPrefixes.size()) {
    unit *= base;
    ++place;
  }
  const char letter = binary && place == 0 ? 'K' : kPrefixes[place];
  return heap.String(fmt::format("{:.1f} {}{}", base * bytes / unit, letter, binary ? "iB" : "B"));
}

absl::StatusOr<Value> Attribute(Heap& heap, const Value& self, const Bound& arguments) {
  ASSIGN_OR_RETURN(const Value* name, arguments.String(0));
  if (name == nullptr) return InvalidArgument("attr() needs a name");
  ASSIGN_OR_RETURN(std::optional<Value> found, GetOwnAttribute(heap, self, name->bytes()));
  if (found) return *std::move(found);
  return heap.Undefined(fmt::format("'{} object' has no attribute '{}'", self.TypeName(), name->bytes()));
}

absl::StatusOr<Value> Random(Heap&, const Value&, const Bound&) {
  return InvalidArgument("the filter 'random' is not offered: a prompt depends on its request alone");
}

constexpr Builtin kFilters[] = {
    {"default", "?default_value ?boolean", Default},
    {"d", "?default_value ?boolean", Default},
    {"length", "", Length},
    {"count", "", Length},
    {"abs", "", Absolute},
    {"int", "?default ?base", ToInteger},
    {"float", "?default", ToFloat},
    {"round", "?precision ?method", Round},
    {"filesizeformat", "?binary", FileSize},
    {"attr", "name", Attribute},
    {"random", "", Random},
};

}  // namespace

std::span<const Builtin> ValueFilters() { return kFilters; }

}  // namespace inferd::chat_template
