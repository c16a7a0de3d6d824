// A sorted list of the tokens answers which begin with given bytes: they stand together.
#include "engine/sampling/token_texts.h"

#include <algorithm>

namespace inferd::sampling {

TokenTexts::TokenTexts(int32_t size, const std::function<std::string(int32_t token, bool with_special)>& bytes) {
  for (int32_t token = 0; token < size; ++token) {
    const std::string spelled = bytes(token, /*with_special=*/true);
    bytes_ += spelled;
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    silent_.push_back(bytes(token, /*with_special=*/false).empty());
    if (!silent_.back()) sorted_.push_back(token);
  }
  std::sort(sorted_.begin(), sorted_.end(), [this](int32_t a, int32_t b) { return text(a) < text(b); });
}

std::string_view TokenTexts::spelled(int32_t token) const {
  const uint32_t begin = token == 0 ? 0 : ends_[token - 1];
  return std::string_view(bytes_).substr(begin, ends_[token] - begin);
}

std::span<const int32_t> TokenTexts::StartingWith(std::string_view beginning) const {
  const auto begin = std::lower_bound(sorted_.begin(), sorted_.end(), beginning,
                                      [this](int32_t token, std::string_view other) { return text(token) < other; });
  const auto end = std::partition_point(
      begin, sorted_.end(), [&](int32_t token) { return text(token).substr(0, beginning.size()) == beginning; });
  return {begin, end};
}

}  // namespace inferd::sampling
