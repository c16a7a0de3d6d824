#include "engine/template/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "config/base/status.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

std::string_view Stripped(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end;
    if (!IsSpace(PreviousCodePoint(text, begin))) break;
    end = begin;
  }
  size_t begin = 0;
  while (begin < end) {
    size_t next = begin;
    if (!IsSpace(NextCodePoint(text, next))) break;
    begin = next;
  }
  return text.substr(begin, end - begin);
}

// The digits without underscores, which may stand only between two digits; nullopt if one stands elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view digits) {
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      result.push_back(digits[i]);
    } else if (i == 0 || i + 1 == digits.size() || std::isalnum(static_cast<unsigned char>(digits[i - 1])) == 0 ||
               std::isalnum(static_cast<unsigned char>(digits[i + 1])) == 0) {
      return std::nullopt;
    }
  }
  return result;
}

// Takes a prefix like 0x from the text; the base that it means, or `base` if there is none. 0 for a prefix of another.
int TakeBasePrefix(std::string_view& digits, int base) {
  int prefix_base = 0;
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    prefix_base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  }
  if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
    digits.remove_prefix(2);
    if (digits[0] == '_') digits.remove_prefix(1);
    return prefix_base;
  }
  return base == 0 ? 10 : base;
}

}  // namespace

std::string FormatFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer;
  char* const last = buffer.data() + buffer.size();
  const char* end = std::to_chars(buffer.data(), last, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t exponent_at = scientific.find('e');
  const int exponent = std::atoi(std::string(scientific.substr(exponent_at + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(scientific);
  end = std::to_chars(buffer.data(), last, value, std::chars_format::fixed).ptr;
  std::string fixed(buffer.data(), static_cast<size_t>(end - buffer.data()));
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

absl::StatusOr<std::optional<int64_t>> ParseInteger(std::string_view text, int base) {
  std::string_view digits = Stripped(text);
  std::string sign;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    if (digits[0] == '-') sign = "-";
    digits.remove_prefix(1);
  }
  base = TakeBasePrefix(digits, base);
  const std::optional<std::string> plain = WithoutUnderscores(digits);
  if (!plain || plain->empty() || (*plain)[0] == '-' || (*plain)[0] == '+') return std::optional<int64_t>();
  const std::string whole = sign + *plain;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value, base);
  if (end != whole.data() + whole.size()) return std::optional<int64_t>();
  if (error == std::errc::result_out_of_range) return InvalidArgument("an integer needs more than 64 bits");
  if (error != std::errc()) return std::optional<int64_t>();
  return std::optional<int64_t>(value);
}

std::optional<double> ParseFloat(std::string_view text) {
  const std::optional<std::string> plain = WithoutUnderscores(Stripped(text));
  if (!plain || plain->empty()) return std::nullopt;
  // strtod also takes hexadecimal floats and nan(...), which Python does not.
  if (plain->find_first_of("xX(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size() || std::isspace(static_cast<unsigned char>((*plain)[0])) != 0) {
    return std::nullopt;
  }
  return value;
}

absl::StatusOr<int64_t> Truncate(double value) {
  if (std::isnan(value)) return InvalidArgument("cannot convert float NaN to integer");
  if (std::isinf(value)) return InvalidArgument("cannot convert float infinity to integer");
  if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) {
    return InvalidArgument("an integer needs more than 64 bits");
  }
  return static_cast<int64_t>(value);
}

double RoundTo(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 340) return value;
  if (digits < -310) return std::copysign(0.0, value);
  if (digits >= 0) {
    // printf rounds the exact binary value correctly, ties to even.
    std::array<char, 720> buffer;
    std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(digits), value);
    return std::strtod(buffer.data(), nullptr);
  }
  const long double unit = std::pow(10.0L, static_cast<long double>(-digits));
  return static_cast<double>(std::nearbyint(static_cast<long double>(value) / unit) * unit);
}

}  // namespace inferd::chat_template
