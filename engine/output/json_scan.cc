#include "engine/output/json_scan.h"

namespace inferd::output {

size_t JsonScan::End(std::string_view text, size_t begin) {
  if (ended_) return begin + read_;
  for (size_t at = begin + read_; at < text.size(); ++at) {
    ++read_;
    const char c = text[at];
    if (escaped_) {
      escaped_ = false;
      continue;
    }
    if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    } else {
      continue;
    }
    if (depth_ == 0 && !in_string_) {
      ended_ = true;
      return at + 1;
    }
  }
  return text.npos;
}

}  // namespace inferd::output
