// Decimal numbers between two bounds, as a grammar over their digits.
//
//   ExprId percent = IntegerRange({.least = 0, .most = 100}, grammar);
//   ExprId share = NumberRange({.least = {0.0}, .most = {1.0}, .most_excluded = true}, grammar);
#pragma once

#include <cstdint>
#include <optional>

#include "absl/numeric/int128.h"
#include "engine/constraint/grammar.h"

namespace inferd::constraint {

// Of integers that are looked at: 18 digits.
constexpr int64_t kLargestInteger = 999'999'999'999'999'999;

struct IntegerBounds {
  absl::int128 least = -kLargestInteger, most = kLargestInteger;  // of 64 bits, beside the sign
};
// All integers within, without leading zeros and -0; Nothing() if there are none.
ExprId IntegerRange(const IntegerBounds& bounds, Grammar& grammar);

struct NumberBounds {
  std::optional<double> least, most;  // of magnitude below 1e18
  bool least_excluded = false, most_excluded = false;
};
// Numbers within, written without exponent.
ExprId NumberRange(const NumberBounds& bounds, Grammar& grammar);

}  // namespace inferd::constraint
