// The version of Anthropic's API that a client asks for, by the header anthropic-version.
//
//   absl::StatusOr<std::vector<std::string>> warnings = ReadVersion(exchange.request);
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/http/message.h"

namespace inferd::gateway {

// Versions 2023-06-01 and 2026-10-21, which differ in nothing that is answered here; a client may leave it out. A newer
// one is answered as these are, with a warning. INVALID_ARGUMENT: an older one, or no version.
absl::StatusOr<std::vector<std::string>> ReadVersion(const Request& request);

}  // namespace inferd::gateway
