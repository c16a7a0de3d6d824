#include "engine/constraint/schema_shape.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

namespace inferd::constraint {
namespace {

namespace json = boost::json;

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void Tighten(const NumberLimits& with, NumberLimits& limits) {
  if (with.least && (!limits.least || *with.least >= *limits.least)) {
    limits.least_excluded = with.least_excluded || (limits.least == with.least && limits.least_excluded);
    limits.least = with.least;
  }
  if (with.most && (!limits.most || *with.most <= *limits.most)) {
    limits.most_excluded = with.most_excluded || (limits.most == with.most && limits.most_excluded);
    limits.most = with.most;
  }
}

bool Impossible(const NumberShape& number) {
  const NumberLimits& limits = number.limits;
  if (number.integer && number.fraction) return true;
  if (!limits.least || !limits.most) return false;
  if (*limits.least > *limits.most) return true;
  if (*limits.least == *limits.most) {
    return limits.least_excluded || limits.most_excluded || !Satisfies(*limits.least, number);
  }
  if (!number.integer) return false;
  const long double first = std::ceil(*limits.least), last = std::floor(*limits.most);
  const bool skips_first = limits.least_excluded && first == *limits.least;
  const bool skips_last = limits.most_excluded && last == *limits.most;
  return first + (skips_first ? 1 : 0) > last - (skips_last ? 1 : 0);
}

}  // namespace

TypeSet TypeOf(const json::value& value) {
  if (value.is_null()) return kNullType;
  if (value.is_bool()) return kBooleanType;
  if (value.is_string()) return kStringType;
  if (value.is_array()) return kArrayType;
  return value.is_object() ? kObjectType : kNumberType;
}

long double NumberOf(const json::value& value) {
  if (value.is_int64()) return static_cast<long double>(value.get_int64());
  if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
  return static_cast<long double>(value.get_double());
}

bool IsInteger(const json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::isfinite(value.get_double()) &&
          std::floor(value.get_double()) == value.get_double());
}

std::string CanonicalText(const json::value& value) {
  if (value.is_array()) {
    std::string text = "[";
    for (const json::value& element : value.get_array()) text += CanonicalText(element) + ",";
    return text + "]";
  }
  if (value.is_object()) {
    std::vector<std::string> members;
    for (const auto& [key, member] : value.get_object()) {
      members.push_back(json::serialize(key) + ":" + CanonicalText(member) + ",");
    }
    std::sort(members.begin(), members.end());
    std::string text = "{";
    for (const std::string& member : members) text += member;
    return text + "}";
  }
  if (value.is_double() && IsInteger(value) && std::abs(value.get_double()) < 9e18) {
    return std::to_string(static_cast<int64_t>(value.get_double()));
  }
  return json::serialize(value);
}

bool Satisfies(long double value, const NumberShape& number) {
  const bool whole = std::floor(value) == value;
  if ((number.integer && !whole) || (number.fraction && whole)) return false;
  const NumberLimits& limits = number.limits;
  if (limits.least && (value < *limits.least || (limits.least_excluded && value == *limits.least))) return false;
  if (limits.most && (value > *limits.most || (limits.most_excluded && value == *limits.most))) return false;
  return std::all_of(number.multiples.begin(), number.multiples.end(),
                     [&](double multiple) { return std::fmod(value, static_cast<long double>(multiple)) == 0; });
}

bool IsImpossible(const Shape& shape) { return shape.count.least > shape.count.most || Impossible(shape.number); }

std::optional<Shape> CommonShape(const Shape& a, const Shape& b) {
  Shape both = a;
  both.spoken |= b.spoken;
  both.number.integer |= b.number.integer;
  both.number.fraction |= b.number.fraction;
  Tighten(b.number.limits, both.number.limits);
  Append(both.number.multiples, b.number.multiples);
  both.count.least = std::max(a.count.least, b.count.least);
  both.count.most = std::min(a.count.most, b.count.most);
  Append(both.terms, b.terms);
  Append(both.elements, b.elements);
  Append(both.contains, b.contains);
  both.unique |= b.unique;
  Append(both.members, b.members);
  for (const std::string& name : b.required) {
    if (std::find(both.required.begin(), both.required.end(), name) == both.required.end()) {
      both.required.push_back(name);
    }
  }
  Append(both.some, b.some);
  Append(both.names, b.names);
  if (IsImpossible(both)) return std::nullopt;
  return both;
}

}  // namespace inferd::constraint
