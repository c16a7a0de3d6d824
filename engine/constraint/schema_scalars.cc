// Numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "config/base/status.h"
#include "engine/constraint/number_range.h"
#include "engine/constraint/schema_keywords.h"
#include "engine/constraint/schema_reader.h"

namespace inferd::constraint {
namespace {

constexpr long double kLargestNumber = 1e17L;  // beyond, numbers are not told apart by their digits
constexpr long double kLargestBound = 18446744073709551615.0L;
constexpr double kLargestDivisor = 500;
constexpr int64_t kMostRests = 3000;  // digits of multiples, times the divisor
constexpr uint32_t kMostHalvings = 6;

// The bound as an integer, and whether there is one.
std::optional<long double> Whole(const std::optional<long double>& bound, bool excluded, bool is_least) {
  if (!bound) return std::nullopt;
  const long double whole = is_least ? std::ceil(*bound) : std::floor(*bound);
  if (!excluded || whole != *bound) return whole;
  return is_least ? whole + 1 : whole - 1;
}

absl::StatusOr<TextSet> SetOf(const Grammar& grammar, ExprId expr) {
  Grammar numbers = grammar;
  numbers.set_root(numbers.AddRule("numbers"));
  numbers.Define(numbers.root(), expr);
  ASSIGN_OR_RETURN(const TextSet set, TextSet::Of(numbers));
  return set.Minimal();
}

}  // namespace

absl::StatusOr<ExprId> SchemaReader::Number(const Shape& shape) {
  const NumberLimits& limits = shape.number.limits;
  if (shape.number.integer || !shape.number.multiples.empty()) {
    if (shape.number.fraction) {
      return InvalidArgument("at {}: multipleOf is not supported of numbers that are no integers", shape.place);
    }
    return Integers(shape);
  }
  if (!limits.least && !limits.most && !shape.number.fraction) return json_.AnyNumber();
  if ((limits.least && *limits.least > kLargestNumber) || (limits.most && *limits.most < -kLargestNumber)) {
    return InvalidArgument("at {}: all numbers that are allowed are beyond {:g}, which is not supported", shape.place,
                           static_cast<double>(kLargestNumber));
  }
  // What is beyond the largest number is not generated.
  const auto within = [](const std::optional<long double>& bound) -> std::optional<double> {
    if (!bound) return std::nullopt;
    return static_cast<double>(std::clamp(*bound, -kLargestNumber, kLargestNumber));
  };
  const NumberBounds bounds{.least = within(limits.least),
                            .most = within(limits.most),
                            .least_excluded = limits.least_excluded,
                            .most_excluded = limits.most_excluded};
  if (!shape.number.fraction) return grammar_.Named(shape.place, NumberRange(bounds, grammar_));
  // A few digits before the point and some behind it, the last not 0: a double holds them.
  Grammar digits, range;
  const auto digit = [&](int first) {
    ByteSet set;
    for (int value = first; value <= 9; ++value) set.set(static_cast<size_t>('0' + value));
    return digits.Bytes(set);
  };
  const ExprId whole = digits.Choice({digits.Byte('0'), digits.Sequence({digit(1), digits.Repeat(digit(0), 0, 5)})});
  const ExprId fraction = digits.Sequence(
      {digits.Optional(digits.Byte('-')), whole, digits.Byte('.'), digits.Repeat(digit(0), 0, 7), digit(1)});
  ASSIGN_OR_RETURN(TextSet numbers, SetOf(digits, fraction));
  if (bounds.least || bounds.most) {
    ASSIGN_OR_RETURN(const TextSet bounded, SetOf(range, NumberRange(bounds, range)));
    ASSIGN_OR_RETURN(numbers, numbers.Intersect(bounded));
  }
  return numbers.Write(grammar_, [this](const ByteSet& bytes) { return grammar_.Bytes(bytes); });
}

absl::StatusOr<ExprId> SchemaReader::Integers(const Shape& shape) {
  const NumberLimits& limits = shape.number.limits;
  const std::optional<long double> least = Whole(limits.least, limits.least_excluded, true);
  const std::optional<long double> most = Whole(limits.most, limits.most_excluded, false);
  if ((least && *least > kLargestBound) || (most && *most < -kLargestBound)) {
    return InvalidArgument("at {}: integers of more than 64 bits are not supported", shape.place);
  }
  IntegerBounds bounds;
  const auto as_bound = [](long double value) {
    const bool negative = value < 0;
    const auto size = static_cast<uint64_t>(std::min(std::abs(value), kLargestBound));
    return negative ? -absl::int128(size) : absl::int128(size);
  };
  if (least) bounds.least = as_bound(*least);
  if (most) bounds.most = as_bound(*most);
  // Without the other bound, integers of any size near to this one.
  constexpr absl::int128 kFar = std::numeric_limits<uint64_t>::max();
  if (least && !most && bounds.least >= bounds.most) bounds.most = kFar;
  if (most && !least && bounds.most <= bounds.least) bounds.least = -kFar;
  const std::vector<double>& multiples = shape.number.multiples;
  if (!least && !most && multiples.empty()) return json_.AnyInteger();
  if (multiples.empty()) return grammar_.Named(shape.place, IntegerRange(bounds, grammar_));
  int64_t divisor = 1;
  for (double multiple : multiples) {
    // A multiple of 2.5 that is an integer is one of 5.
    double whole = multiple;
    for (uint32_t i = 0; i < kMostHalvings && std::floor(whole) != whole; ++i) whole *= 2;
    if (std::floor(whole) != whole || whole > kLargestDivisor) {
      const bool is_whole = std::floor(multiple) == multiple;
      if (multiples.size() == 1 && (is_whole || !shape.number.integer)) return DecimalMultiples(shape, multiple);
      return InvalidArgument("at {}: multipleOf {} is not supported of integers or beside others", shape.place,
                             multiple);
    }
    divisor = std::lcm(divisor, static_cast<int64_t>(whole));
    if (divisor > kLargestDivisor) {
      return InvalidArgument("at {}: multipleOf of numbers that have no common multiple up to {} is not supported",
                             shape.place, kLargestDivisor);
    }
  }
  absl::int128 largest = 1;
  for (int64_t digits = std::min<int64_t>(kMostRests / divisor, 15); digits > 0; --digits) largest *= 10;
  if (bounds.least > largest || bounds.most < -largest) {
    return InvalidArgument("at {}: multipleOf {} of so large numbers is not supported", shape.place, divisor);
  }
  bounds.least = std::max<absl::int128>(bounds.least, 1 - largest);
  bounds.most = std::min<absl::int128>(bounds.most, largest - 1);
  Grammar range;
  ASSIGN_OR_RETURN(const TextSet all, SetOf(range, IntegerRange(bounds, range)));
  absl::StatusOr<TextSet> some = all.MultiplesOf(static_cast<uint32_t>(divisor));
  if (!some.ok()) return InvalidArgument("at {}: multipleOf {}", shape.place, MessageOf(some.status()));
  const TextSet integers = *std::move(some);
  RETURN_IF_ERROR(Spend(shape.place, static_cast<int64_t>(integers.states())));
  const auto written = [this](const TextSet& set) {
    return set.Write(grammar_, [this](const ByteSet& bytes) { return grammar_.Bytes(bytes); });
  };
  if (shape.number.integer || multiples.size() > 1 || std::floor(multiples[0]) == multiples[0])
    return written(integers);
  ASSIGN_OR_RETURN(const TextSet fractions, Fractions(shape, multiples[0]));
  return grammar_.Choice({written(integers), written(fractions)});
}

// Multiples of a number like 0.1, which a double does not hold, or of a large one: those nearest to 0, written as
// decimals. Some validators divide decimals, others doubles: what both call a multiple remains.
absl::StatusOr<ExprId> SchemaReader::DecimalMultiples(const Shape& shape, double multiple) {
  constexpr int64_t kMostEach = 1000;  // on either side
  constexpr size_t kMostDigits = 8;
  char shortest[64];
  const auto written = std::to_chars(shortest, std::end(shortest), multiple, std::chars_format::fixed);
  const std::string_view decimal(shortest, written.ec == std::errc() ? static_cast<size_t>(written.ptr - shortest) : 0);
  const size_t point = std::min(decimal.find('.'), decimal.size());
  const size_t places = point < decimal.size() ? decimal.size() - point - 1 : 0;
  std::string digits(decimal.substr(0, point));
  if (places > 0) digits += decimal.substr(point + 1);
  if (decimal.empty() || places > kMostDigits || digits.size() > kMostDigits + 1) {
    return InvalidArgument("at {}: multipleOf {} is not supported, expected a number of at most {} digits", shape.place,
                           multiple, kMostDigits);
  }
  const int64_t step = std::stoll(digits);
  const NumberLimits& limits = shape.number.limits;
  const auto nearest = [&](const std::optional<long double>& bound, int64_t otherwise) {
    constexpr long double kFar = 1e9L;
    return bound ? static_cast<int64_t>(std::clamp(*bound / static_cast<long double>(multiple), -kFar, kFar))
                 : otherwise;
  };
  int64_t first = nearest(limits.least, -kMostEach) - 1, last = nearest(limits.most, kMostEach) + 1;
  if (first > kMostEach || !limits.most) last = std::max(last, first + 2 * kMostEach);
  if (last < -kMostEach || !limits.least) first = std::min(first, last - 2 * kMostEach);
  if (first < -kMostEach && last > kMostEach) {
    first = -kMostEach;
    last = kMostEach;
  }
  last = std::min(last, first + 2 * kMostEach);
  std::vector<std::string> texts;
  for (int64_t factor = first; factor <= last; ++factor) {
    std::string text = std::to_string(std::abs(factor) * step);
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    if (places > 0) text.insert(text.size() - places, ".");
    while (places > 0 && text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    if (factor < 0) text.insert(0, "-");
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    const double quotient = value / multiple;
    if (std::floor(quotient) == quotient && Satisfies(value, {.limits = limits})) texts.push_back(std::move(text));
  }
  if (texts.empty()) return InvalidArgument("at {}: no multiple of {} is within the bounds", shape.place, multiple);
  ASSIGN_OR_RETURN(const TextSet all, TextSet::Of(texts));
  const TextSet numbers = all.Minimal();
  RETURN_IF_ERROR(Spend(shape.place, static_cast<int64_t>(numbers.states())));
  return numbers.Write(grammar_, [this](const ByteSet& bytes) { return grammar_.Bytes(bytes); });
}

// Multiples of a fraction like 0.25, with as many digits behind the point as it has.
absl::StatusOr<TextSet> SchemaReader::Fractions(const Shape& shape, double multiple) {
  double divisor = multiple;
  uint32_t places = 0;
  for (; places < kMostHalvings && std::floor(divisor) != divisor; ++places) divisor *= 10;
  if (divisor > kLargestDivisor) return TextSet();
  Grammar range;
  ByteSet digits;
  for (unsigned char digit = '0'; digit <= '9'; ++digit) digits.set(digit);
  const ExprId digit = range.Bytes(digits);
  const ExprId whole = range.Choice(
      {range.Byte('0'), range.Sequence({range.Bytes(ByteSet(digits).reset('0')), range.Repeat(digit, 0, 11)})});
  ASSIGN_OR_RETURN(TextSet numbers,
                   SetOf(range, range.Sequence({range.Optional(range.Byte('-')), whole, range.Byte('.'),
                                                range.Repeat(digit, places, places)})));
  const NumberLimits& limits = shape.number.limits;
  if (limits.least || limits.most) {
    Grammar bounded;
    const auto narrowed = [](const std::optional<long double>& bound) {
      return bound ? std::optional(static_cast<double>(std::clamp(*bound, -kLargestNumber, kLargestNumber)))
                   : std::nullopt;
    };
    ASSIGN_OR_RETURN(const TextSet within, SetOf(bounded, NumberRange({.least = narrowed(limits.least),
                                                                       .most = narrowed(limits.most),
                                                                       .least_excluded = limits.least_excluded,
                                                                       .most_excluded = limits.most_excluded},
                                                                      bounded)));
    ASSIGN_OR_RETURN(numbers, numbers.Intersect(within));
  }
  return numbers.MultiplesOf(static_cast<uint32_t>(divisor));
}

}  // namespace inferd::constraint
