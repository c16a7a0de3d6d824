// Digits are compared from the left: as long as they equal a bound's, the next digit is bounded by it, too ("tight").
#include "engine/constraint/number_range.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "engine/constraint/json_grammar.h"

namespace inferd::constraint {
namespace {

// A bound on a number that is not negative: its digits before and behind the point.
struct Decimal {
  std::string whole = "0";
  std::string fraction;  // without zeros at the end
};

Decimal DecimalOf(double value) {
  char text[512];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  const std::string digits(text, end.ptr);
  const size_t point = std::min(digits.find('.'), digits.size());
  Decimal decimal{.whole = digits.substr(0, point)};
  if (point < digits.size()) decimal.fraction = digits.substr(point + 1);
  while (decimal.fraction.ends_with('0')) decimal.fraction.pop_back();
  return decimal;
}

std::string DigitsOf(absl::int128 natural) { return std::to_string(static_cast<uint64_t>(natural)); }

class RangeWriter {
 public:
  explicit RangeWriter(Grammar& grammar) : grammar_(grammar) {}

  // least <= integers <= most, not negative.
  ExprId Natural(absl::int128 least, absl::int128 most) {
    std::vector<ExprId> choices;
    if (least > most) return grammar_.Nothing();
    if (least == 0) choices.push_back(grammar_.Byte('0'));
    least = std::max<absl::int128>(least, 1);
    const std::string low = DigitsOf(least), high = DigitsOf(most);
    for (size_t length = low.size(); least <= most && length <= high.size(); ++length) {
      low_ = length == low.size() ? low : "1" + std::string(length - 1, '0');
      high_ = length == high.size() ? high : std::string(length, '9');
      choices.push_back(Digits(0, true, true));
    }
    return grammar_.Choice(std::move(choices));
  }

  struct Bounds {
    Decimal least;
    bool least_excluded = false;
    std::optional<Decimal> most;
    bool most_excluded = false;
  };
  // Numbers that are not negative.
  ExprId Positive(const Bounds& bounds) {
    const int64_t low = std::stoll(bounds.least.whole);
    const int64_t high = bounds.most ? std::stoll(bounds.most->whole) : kLargestInteger;
    std::vector<ExprId> choices;
    bounds_ = &bounds;
    if (low > high) return grammar_.Nothing();
    const bool bounded_above = bounds.most.has_value();
    if (low == high) {
      choices.push_back(grammar_.Sequence({grammar_.Literal(bounds.least.whole), Tail(true, bounded_above)}));
    } else {
      choices.push_back(grammar_.Sequence({grammar_.Literal(bounds.least.whole), Tail(true, false)}));
      const int64_t last = bounded_above ? high - 1 : high;
      choices.push_back(grammar_.Sequence({Natural(low + 1, last), Tail(false, false)}));
      if (bounded_above) {
        choices.push_back(grammar_.Sequence({grammar_.Literal(bounds.most->whole), Tail(false, true)}));
      }
    }
    return grammar_.Choice(std::move(choices));
  }

 private:
  ExprId Digit(int first, int last) {
    ByteSet set;
    for (int digit = first; digit <= last; ++digit) set.set(static_cast<size_t>('0' + digit));
    return grammar_.Bytes(set);
  }

  // The digits from i on of numbers as long as the bounds.
  ExprId Digits(size_t i, bool tight_low, bool tight_high) {
    if (i == low_.size()) return grammar_.Empty();
    if (!tight_low && !tight_high) {
      const auto left = static_cast<uint32_t>(low_.size() - i);
      return grammar_.Repeat(Digit(0, 9), left, left);
    }
    const int low = tight_low ? low_[i] - '0' : 0, high = tight_high ? high_[i] - '0' : 9;
    std::vector<ExprId> choices;
    if (low > high) return grammar_.Nothing();
    const int between_first = tight_low ? low + 1 : low, between_last = tight_high ? high - 1 : high;
    if (tight_low && tight_high && low == high) {
      return grammar_.Sequence({Digit(low, low), Digits(i + 1, true, true)});
    }
    if (tight_low) choices.push_back(grammar_.Sequence({Digit(low, low), Digits(i + 1, true, false)}));
    if (between_first <= between_last) {
      choices.push_back(grammar_.Sequence({Digit(between_first, between_last), Digits(i + 1, false, false)}));
    }
    if (tight_high) choices.push_back(grammar_.Sequence({Digit(high, high), Digits(i + 1, false, true)}));
    return grammar_.Choice(std::move(choices));
  }

  // Nothing, or a point and digits, behind the digits of a bound or of a number between the bounds.
  ExprId Tail(bool tight_low, bool tight_high) {
    std::vector<ExprId> choices = {grammar_.Sequence({grammar_.Byte('.'), Fraction(0, tight_low, tight_high)})};
    if (MayEnd(0, tight_low, tight_high)) choices.push_back(grammar_.Empty());
    return grammar_.Choice(std::move(choices));
  }

  // Whether the number is within the bounds if no digit from i on follows.
  bool MayEnd(size_t i, bool tight_low, bool tight_high) const {
    if (tight_low && (i < bounds_->least.fraction.size() || bounds_->least_excluded)) return false;
    return !tight_high || i < bounds_->most->fraction.size() || !bounds_->most_excluded;
  }

  ExprId Fraction(size_t i, bool tight_low, bool tight_high) {
    if (!tight_low && !tight_high) {
      return grammar_.Repeat(Digit(0, 9), i == 0 ? 1 : 0, kMostFractionDigits - static_cast<uint32_t>(i));
    }
    std::vector<ExprId> choices;
    if (i > 0 && MayEnd(i, tight_low, tight_high)) choices.push_back(grammar_.Empty());
    if (i < kMostFractionDigits) {
      const auto digit_of = [i](const std::string& digits) { return i < digits.size() ? digits[i] - '0' : 0; };
      const int low = tight_low ? digit_of(bounds_->least.fraction) : 0;
      const int high = tight_high ? digit_of(bounds_->most->fraction) : 9;
      for (int digit = low; digit <= high; ++digit) {
        const bool still_low = tight_low && digit == low, still_high = tight_high && digit == high;
        choices.push_back(grammar_.Sequence({Digit(digit, digit), Fraction(i + 1, still_low, still_high)}));
      }
    }
    return grammar_.Choice(std::move(choices));
  }

  Grammar& grammar_;
  std::string low_, high_;  // of Digits
  const Bounds* bounds_ = nullptr;
};

}  // namespace

ExprId IntegerRange(const IntegerBounds& bounds, Grammar& grammar) {
  RangeWriter writer(grammar);
  const absl::int128 least = bounds.least, most = bounds.most;
  std::vector<ExprId> choices = {writer.Natural(std::max<absl::int128>(least, 0), most)};
  if (least < 0) {
    choices.push_back(grammar.Sequence({grammar.Byte('-'), writer.Natural(std::max<absl::int128>(1, -most), -least)}));
  }
  return grammar.Choice(std::move(choices));
}

ExprId NumberRange(const NumberBounds& bounds, Grammar& grammar) {
  RangeWriter writer(grammar);
  std::vector<ExprId> choices;
  const auto decimal = [](std::optional<double> value) {
    return value ? std::optional(DecimalOf(*value)) : std::nullopt;
  };
  if (!bounds.most || *bounds.most >= 0) {
    const bool from_zero = !bounds.least || *bounds.least < 0;
    choices.push_back(writer.Positive({.least = from_zero ? Decimal() : DecimalOf(*bounds.least + 0.0),
                                       .least_excluded = !from_zero && bounds.least_excluded,
                                       .most = decimal(bounds.most),
                                       .most_excluded = bounds.most_excluded}));
  }
  if (!bounds.least || *bounds.least < 0) {
    std::optional<Decimal> mirrored;
    if (bounds.least) mirrored = DecimalOf(-*bounds.least);
    const bool to_zero = !bounds.most || *bounds.most > 0;
    const ExprId negative = writer.Positive({.least = to_zero ? Decimal() : DecimalOf(0.0 - *bounds.most),
                                             .least_excluded = !to_zero && bounds.most_excluded,
                                             .most = mirrored,
                                             .most_excluded = bounds.least_excluded});
    choices.push_back(grammar.Sequence({grammar.Byte('-'), negative}));
  }
  return grammar.Choice(std::move(choices));
}

}  // namespace inferd::constraint
