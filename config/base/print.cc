#include "config/base/print.h"

#include <algorithm>

#include "config/base/json_string.h"

namespace inferd {

std::string Printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool control = (length == 1 && (first < 0x20 || first == 0x7f) && first != '\n' && first != '\t') ||
                         (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control) {
      out += "\uFFFD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

void PrintError(std::string_view program, std::string_view message) {
  PrintStderr("{}: {}\n", program, Printable(message));
}

}  // namespace inferd
