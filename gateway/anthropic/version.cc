#include "gateway/anthropic/version.h"

#include "absl/strings/ascii.h"
#include "config/base/status.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

constexpr std::string_view kOldest = "2023-06-01";
constexpr std::string_view kNewest = "2026-10-21";

// YYYY-MM-DD, so that dates compare as texts do.
bool IsDate(std::string_view text) {
  if (text.size() != kOldest.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kOldest[i] == '-' ? text[i] != '-' : !absl::ascii_isdigit(text[i])) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadVersion(const Request& request) {
  std::vector<std::string> warnings;
  const std::string_view version = request.Header("anthropic-version");
  if (version.empty() || version == kOldest || version == kNewest) return warnings;
  if (!IsDate(version) || version < kOldest) {
    return InvalidField("anthropic-version", "'{}' is not supported, expected {} or {}", ValidText(version, 64),
                        kOldest, kNewest);
  }
  warnings.push_back(fmt::format("anthropic-version: {} is not known, the answer is one of {}", version, kNewest));
  return warnings;
}

}  // namespace inferd::gateway
