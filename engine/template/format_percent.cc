// printf-style formatting, as Python's str % values.
#include <optional>
#include <string>

#include "config/base/status.h"
#include "engine/template/compare.h"
#include "engine/template/format.h"
#include "engine/template/format_spec.h"
#include "engine/template/number.h"
#include "engine/template/print.h"
#include "engine/template/unicode.h"

namespace inferd::chat_template {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, const Value& format, const Value& values)
      : heap_(heap), format_(format), bytes_(format.bytes()), values_(values) {}

  absl::StatusOr<Value> Run() {
    RETURN_IF_ERROR(heap_.CheckString(bytes_.size()));
    while (at_ < bytes_.size()) {
      const size_t percent = std::min(bytes_.find('%', at_), bytes_.size());
      out_.AppendSlice(format_.text(), at_, percent);
      at_ = percent + 1;
      if (percent < bytes_.size()) RETURN_IF_ERROR(Directive());
      RETURN_IF_ERROR(heap_.CheckSize(out_.size()));
    }
    // What could give values by name need not give any: Python takes all that has elements for that, but text.
    const bool may_be_unused = values_.is_dict() || values_.is_list() || values_.is_undefined() ||
                               (values_.is_object() && values_.object().TypeName() == "range");
    const size_t given = values_.is_tuple() ? values_.items().size() : may_be_unused ? 0 : 1;
    if (used_ < given && !named_) return InvalidArgument("not all arguments converted during string formatting");
    return heap_.String(std::move(out_), format_.string().markup);
  }

 private:
  absl::StatusOr<Value> NextValue() {
    if (named_value_) return *named_value_;
    if (values_.is_tuple()) {
      if (used_ >= values_.items().size()) return InvalidArgument("not enough arguments for format string");
      return values_.items()[used_++];
    }
    if (used_++ > 0) return InvalidArgument("not enough arguments for format string");
    return values_;
  }

  absl::Status TakeName() {
    size_t end = at_ + 1;
    for (int open = 1; end < bytes_.size(); ++end) {
      open += bytes_[end] == '(' ? 1 : bytes_[end] == ')' ? -1 : 0;
      if (open == 0) break;
    }
    if (end >= bytes_.size()) return InvalidArgument("incomplete format key");
    if (!values_.is_dict()) return InvalidArgument("format requires a mapping");
    const std::string name = bytes_.substr(at_ + 1, end - at_ - 1);
    const Value* found = values_.dict().Find(name);
    if (found == nullptr) return InvalidArgument("key '{}' is missing", name);
    named_value_ = *found;
    named_ = true;
    at_ = end + 1;
    return absl::OkStatus();
  }

  // A width or precision: digits, or * for the next value.
  absl::StatusOr<std::optional<int64_t>> TakeCount() {
    if (at_ < bytes_.size() && bytes_[at_] == '*') {
      ++at_;
      ASSIGN_OR_RETURN(const Value value, NextValue());
      if (!value.is_whole()) return InvalidArgument("* wants int");
      return std::optional<int64_t>(std::clamp<int64_t>(value.integer(), -kMaxCount, kMaxCount));
    }
    std::optional<int64_t> count;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      count = std::min(count.value_or(0) * 10 + (bytes_[at_++] - '0'), kMaxCount);
    }
    return count;
  }

  absl::Status Directive() {
    named_value_.reset();
    if (at_ < bytes_.size() && bytes_[at_] == '(') RETURN_IF_ERROR(TakeName());
    FormatSpec spec;
    bool left = false;
    bool zero = false;
    for (; at_ < bytes_.size() && std::string_view("-+ #0").find(bytes_[at_]) != std::string_view::npos; ++at_) {
      const char flag = bytes_[at_];
      left = left || flag == '-';
      zero = zero || flag == '0';
      spec.alternate = spec.alternate || flag == '#';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
    }
    ASSIGN_OR_RETURN(const std::optional<int64_t> width, TakeCount());
    if (width && *width < 0) left = true;
    spec.width = std::abs(width.value_or(0));
    if (at_ < bytes_.size() && bytes_[at_] == '.') {
      ++at_;
      ASSIGN_OR_RETURN(const std::optional<int64_t> precision, TakeCount());
      if (precision.value_or(0) > kMaxPrecision)
        return InvalidArgument("a precision of more than {} digits", kMaxPrecision);
      spec.precision = static_cast<int>(std::max<int64_t>(precision.value_or(0), 0));
    }
    while (at_ < bytes_.size() && std::string_view("hlL").find(bytes_[at_]) != std::string_view::npos) ++at_;
    if (at_ >= bytes_.size()) return InvalidArgument("incomplete format");
    spec.align = left ? '<' : '\0';
    if (zero && !left) {
      spec.align = '=';
      spec.fill = "0";
    }
    spec.type = bytes_[at_++];
    return Convert(spec);
  }

  absl::Status Convert(FormatSpec spec) {
    if (spec.type == '%') {
      out_.Append("%", true);
      return absl::OkStatus();
    }
    if (std::string_view("sracdiuoxXeEfFgG").find(spec.type) == std::string_view::npos) {
      return InvalidArgument("unsupported format character '{}' at index {}", spec.type, at_ - 1);
    }
    ASSIGN_OR_RETURN(const Value value, NextValue());
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') return ConvertText(value, spec);
    if (spec.type == 'c') return ConvertCharacter(value, spec);
    if (!value.is_number()) {
      return InvalidArgument("%{} format: a real number is required, not {}", spec.type, value.TypeName());
    }
    if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos) {
      ASSIGN_OR_RETURN(const Text text, FormatReal(heap_, value.number(), spec));
      out_.Append(text);
      return absl::OkStatus();
    }
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (value.is_float() && !decimal) {
      return InvalidArgument("%{} format: an integer is required, not float", spec.type);
    }
    int64_t whole = value.integer();
    if (value.is_float()) {
      ASSIGN_OR_RETURN(whole, Truncate(value.number()));
    }
    const int min_digits = std::max(spec.precision.value_or(1), 1);
    spec.precision.reset();
    ASSIGN_OR_RETURN(const Text text, FormatInteger(heap_, whole, spec, min_digits));
    out_.Append(text);
    return absl::OkStatus();
  }

  absl::Status ConvertText(const Value& value, FormatSpec spec) {
    Text text;
    if (spec.type == 's') {
      RETURN_IF_ERROR(AppendString(heap_, value, text));
    } else {
      RETURN_IF_ERROR(AppendRepr(heap_, value, text));
    }
    const bool is_markup = value.is_string() && value.string().markup && spec.type == 's';
    if (format_.string().markup && !is_markup) text = EscapeHtml(text);
    if (spec.precision) text = text.Slice(0, OffsetOfCodePoint(text.bytes(), static_cast<size_t>(*spec.precision)));
    spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    ASSIGN_OR_RETURN(const Text padded, Pad(heap_, text, spec, '>'));
    out_.Append(padded);
    return absl::OkStatus();
  }

  absl::Status ConvertCharacter(const Value& value, FormatSpec spec) {
    Text text;
    if (value.is_whole() && value.integer() >= 0 && value.integer() <= 0x10FFFF) {
      std::string character;
      AppendUtf8(character, static_cast<char32_t>(value.integer()));
      text.Append(character, true);
    } else if (value.is_string() && CountCodePoints(value.bytes()) == 1) {
      text = value.text();
    } else {
      return InvalidArgument("%c requires int or char");
    }
    spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    ASSIGN_OR_RETURN(const Text padded, Pad(heap_, text, spec, '>'));
    out_.Append(padded);
    return absl::OkStatus();
  }

  static constexpr int64_t kMaxCount = int64_t{1} << 40;
  static constexpr int64_t kMaxPrecision = 100'000;

  Heap& heap_;
  const Value& format_;
  const std::string& bytes_;
  const Value& values_;
  Text out_;
  size_t at_ = 0;
  size_t used_ = 0;  // of the values without names
  bool named_ = false;
  std::optional<Value> named_value_;
};

}  // namespace

absl::StatusOr<Value> FormatPercent(Heap& heap, const Value& format, const Value& values) {
  return PercentFormatter(heap, format, values).Run();
}

}  // namespace inferd::chat_template
