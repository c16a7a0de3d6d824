#include "engine/template/strftime.h"

#include <array>
#include <string>
#include <string_view>

#include "config/base/status.h"

namespace inferd::chat_template {
namespace {

constexpr int kMaxWidth = 100;

// The length of the directive at the start of `text`: '%', flags, width, modifier, letter. 1 if it is cut short.
absl::StatusOr<size_t> DirectiveLength(std::string_view text) {
  size_t at = 1;
  while (at < text.size() && std::string_view("_-0^#+").find(text[at]) != std::string_view::npos) ++at;
  int width = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    width = width * 10 + (text[at++] - '0');
    if (width > kMaxWidth) return InvalidArgument("strftime: a field is wider than {}", kMaxWidth);
  }
  if (at < text.size() && (text[at] == 'E' || text[at] == 'O')) ++at;
  return at < text.size() ? at + 1 : 1;
}

std::string Directive(const std::string& directive, const std::tm& time) {
  switch (directive.back()) {
    case 'f':
      return "000000";  // the clock gives whole seconds
    case 'z':
    case 'Z':
      return "";  // as of a Python datetime without a zone
    default:
      break;
  }
  std::array<char, 512> buffer;
  const size_t size = std::strftime(buffer.data(), buffer.size(), directive.c_str(), &time);
  return std::string(buffer.data(), size);
}

}  // namespace

absl::StatusOr<Text> FormatTime(const Text& format, const std::tm& time) {
  Text result;
  const std::string& bytes = format.bytes();
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t percent = std::min(bytes.find('%', at), bytes.size());
    result.AppendSlice(format, at, percent);
    if (percent == bytes.size()) break;
    ASSIGN_OR_RETURN(const size_t length, DirectiveLength(std::string_view(bytes).substr(percent)));
    const std::string directive = bytes.substr(percent, length);
    result.Append(length == 1 ? "%" : Directive(directive, time), format.TrustedAt(percent));
    at = percent + length;
  }
  return result;
}

}  // namespace inferd::chat_template
