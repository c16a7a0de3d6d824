// Strings, numbers, and the keywords that bound them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/number_range.h"
#include "engine/constraint/regex.h"
#include "engine/constraint/schema_reader.h"
#include "engine/constraint/string_format.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr uint32_t kMostCount = 100'000;  // of minLength and others like it
constexpr double kLargestBound = 1e17;

}  // namespace

absl::StatusOr<SchemaReader::Bounds> SchemaReader::BoundsOf(const Object& schema, const char* least, const char* most,
                                                            const std::string& place) const {
  Bounds bounds;
  for (const char* keyword : {least, most}) {
    const Value_* value = schema.if_contains(keyword);
    if (value == nullptr) continue;
    const bool whole =
        value->is_int64() || (value->is_double() && std::floor(value->get_double()) == value->get_double());
    json::error_code error;
    const double number = whole ? value->to_number<double>(error) : -1;
    if (number < 0 || number > kMostCount) {
      return InvalidArgument("at {}: {} is {}, expected 0 to {}", place, keyword, Shown(*value), kMostCount);
    }
    (keyword == least ? bounds.least : bounds.most) = static_cast<uint32_t>(number);
  }
  if (bounds.least > bounds.most) return InvalidArgument("at {}: {} is more than {}", place, least, most);
  return bounds;
}

absl::StatusOr<std::optional<double>> SchemaReader::NumberOf(const Object& schema, const char* keyword,
                                                             const std::string& place) const {
  const Value_* value = schema.if_contains(keyword);
  if (value == nullptr) return std::nullopt;
  json::error_code error;
  const double number = value->is_number() ? value->to_number<double>(error) : NAN;
  if (!(std::abs(number) <= kLargestBound)) {
    return InvalidArgument("at {}: {} is {}, expected a number of at most {} either way", place, keyword, Shown(*value),
                           kLargestBound);
  }
  return number;
}

absl::StatusOr<ExprId> SchemaReader::String(const Object& schema, const std::string& place) {
  ASSIGN_OR_RETURN(const Bounds length, BoundsOf(schema, "minLength", "maxLength", place));
  const bool any_length = length.least == 0 && length.most == kUnbounded;
  const Value_* pattern = schema.if_contains("pattern");
  const Value_* format = schema.if_contains("format");
  if (pattern == nullptr && format == nullptr) {
    if (any_length) return json_.AnyString();
    return grammar_.Named(place, json_.Quoted(grammar_.Repeat(json_.StringChar(), length.least, length.most)));
  }
  if ((pattern != nullptr) + (format != nullptr) + !any_length > 1) {
    return InvalidArgument("at {}: only one of pattern, format and the bounds of the length is supported", place);
  }
  const Value_& wanted = pattern != nullptr ? *pattern : *format;
  const char* keyword = pattern != nullptr ? "pattern" : "format";
  if (!wanted.is_string()) return InvalidArgument("at {}: {} is not a string", place, keyword);
  std::string_view regex = View(wanted.get_string());
  if (format != nullptr) {
    const std::optional<std::string_view> known = PatternOfFormat(regex);
    if (!known) {
      return InvalidArgument("at {}: format {} is not supported, expected one of {}", place, regex.substr(0, 64),
                             KnownFormats());
    }
    regex = *known;
  }
  const absl::StatusOr<ExprId> expr =
      ReadRegex(regex, grammar_,
                {.spell = [this](const CharSet& set) { return json_.Spell(set); }, .anywhere = pattern != nullptr});
  if (!expr.ok()) return InvalidArgument("at {}: {} {}", place, keyword, MessageOf(expr.status()));
  return grammar_.Named(place, json_.Quoted(*expr));
}

absl::StatusOr<ExprId> SchemaReader::Integer(const Object& schema, const std::string& place) {
  IntegerBounds bounds;
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    ASSIGN_OR_RETURN(const std::optional<double> bound, NumberOf(schema, keyword, place));
    if (!bound) continue;
    const Value_& written = schema.at(keyword);
    const bool is_least = std::string_view(keyword).ends_with("inimum"), excluded = keyword[0] == 'e';
    const bool whole = written.is_int64() || std::floor(*bound) == *bound;
    int64_t limit = written.is_int64() ? written.get_int64()
                                       : static_cast<int64_t>(is_least ? std::ceil(*bound) : std::floor(*bound));
    if (excluded && whole) limit += is_least ? 1 : -1;
    if (is_least) bounds.least = std::max(bounds.least, limit);
    if (!is_least) bounds.most = std::min(bounds.most, limit);
  }
  if (bounds.least == -kLargestInteger && bounds.most == kLargestInteger) return json_.AnyInteger();
  return grammar_.Named(place, IntegerRange(bounds, grammar_));
}

absl::StatusOr<ExprId> SchemaReader::Number(const Object& schema, const std::string& place) {
  NumberBounds bounds;
  for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    ASSIGN_OR_RETURN(const std::optional<double> bound, NumberOf(schema, keyword, place));
    if (!bound) continue;
    const bool is_least = std::string_view(keyword).ends_with("inimum"), excluded = keyword[0] == 'e';
    std::optional<double>& limit = is_least ? bounds.least : bounds.most;
    bool& limit_excluded = is_least ? bounds.least_excluded : bounds.most_excluded;
    const bool tighter = !limit || (is_least ? *bound >= *limit : *bound <= *limit);
    if (!tighter) continue;
    limit_excluded = excluded || (limit == bound && limit_excluded);
    limit = bound;
  }
  if (!bounds.least && !bounds.most) return json_.AnyNumber();
  return grammar_.Named(place, NumberRange(bounds, grammar_));
}

}  // namespace inferd::constraint
