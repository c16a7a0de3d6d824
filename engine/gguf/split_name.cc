#include "engine/gguf/split_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace inferd::gguf {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::string_view kSuffix = ".gguf";
constexpr size_t kDigits = 5;

// Takes five digits off the end of `text`.
std::optional<uint32_t> TakeNumber(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  text.remove_suffix(kDigits);
  return number;
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::optional<SplitName> ParseSplitName(std::string_view path) {
  if (!TakeSuffix(path, kSuffix)) return std::nullopt;
  const std::optional<uint32_t> count = TakeNumber(path);
  if (!count || !TakeSuffix(path, kOf)) return std::nullopt;
  const std::optional<uint32_t> number = TakeNumber(path);
  if (!number || !TakeSuffix(path, "-")) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return SplitName{std::string(path), *number, *count};
}

std::string FormatSplitName(const SplitName& name) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, name.number, name.count);
}

std::vector<size_t> DivideIntoParts(std::span<const uint64_t> tensor_bytes, uint64_t max_bytes) {
  std::vector<size_t> parts = {0};
  uint64_t bytes = 0;
  for (const uint64_t size : tensor_bytes) {
    if (parts.back() > 0 && bytes + size > max_bytes) {
      parts.push_back(0);
      bytes = 0;
    }
    bytes += size;
    ++parts.back();
  }
  return parts;
}

}  // namespace inferd::gguf
