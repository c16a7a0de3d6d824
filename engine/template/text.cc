#include "engine/template/text.h"

#include <algorithm>

namespace inferd::chat_template {

void Text::Append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_trusted_ = trusted;
    flips_.clear();
  } else if (EndTrusted() != trusted) {
    flips_.push_back(bytes_.size());
  }
  bytes_.append(bytes);
}

void Text::Append(const Text& other) { AppendSlice(other, 0, other.size()); }

void Text::AppendSlice(const Text& other, size_t begin, size_t end) {
  const std::string_view bytes = other.bytes_;
  auto flip = std::upper_bound(other.flips_.begin(), other.flips_.end(), begin);
  bool trusted = other.first_trusted_ == ((flip - other.flips_.begin()) % 2 == 0);
  while (begin < end) {
    const size_t run_end = flip == other.flips_.end() ? end : std::min(*flip++, end);
    Append(bytes.substr(begin, run_end - begin), trusted);
    begin = run_end;
    trusted = !trusted;
  }
}

Text Text::Slice(size_t begin, size_t end) const {
  Text result;
  result.AppendSlice(*this, begin, end);
  return result;
}

bool Text::TrustedAt(size_t offset) const {
  const auto flip = std::upper_bound(flips_.begin(), flips_.end(), offset);
  return first_trusted_ == ((flip - flips_.begin()) % 2 == 0);
}

}  // namespace inferd::chat_template
