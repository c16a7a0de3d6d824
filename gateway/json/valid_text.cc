#include "gateway/json/valid_text.h"

#include <algorithm>

#include "config/base/json_string.h"

namespace inferd::gateway {

std::string ValidText(std::string_view bytes, size_t most) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    size_t length = Utf8CharacterLength(bytes.substr(at));
    size_t end = at + std::max<size_t>(1, length);
    if (end > most) break;
    text.append(length > 0 ? bytes.substr(at, length) : std::string_view("\xEF\xBF\xBD"));
    at = end;
  }
  return text;
}

}  // namespace inferd::gateway
