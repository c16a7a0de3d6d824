// API keys: who may call, and which models. The file holds hashes alone, so that reading it gives nobody a key:
//
//   keys:
//     - name: team-a                       # shown in the log
//       sha256: 2c26b46b68ff...            # printf %s "$KEY" | sha256sum
//       models: [chat, "embed-*"]          # default: all
//       requests_per_minute: 600           # default: limits.requests_per_minute
//
//   ASSIGN_OR_RETURN(ApiKeys keys, ParseApiKeys(text, "/etc/inferd/keys.yaml"));
//   std::shared_ptr<const ApiKey> key = keys.Find(authorization_header);
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace inferd::config {

struct ApiKey {
  std::string name;
  std::array<uint8_t, 32> sha256{};
  // Names or patterns with a * at the end; empty: every model.
  std::vector<std::string> models;
  std::optional<uint32_t> requests_per_minute;

  bool MayUse(std::string_view model) const;
};

class ApiKeys {
 public:
  explicit ApiKeys(std::vector<ApiKey> keys);

  // The key that "Bearer <key>" presents, or null. Takes the same time for every wrong key.
  std::shared_ptr<const ApiKey> Find(std::string_view authorization) const;
  size_t size() const { return keys_.size(); }

 private:
  std::vector<std::shared_ptr<const ApiKey>> keys_;
};

// INVALID_ARGUMENT names file and line.
absl::StatusOr<ApiKeys> ParseApiKeys(const std::string& text, std::string_view file);
// NOT_FOUND, PERMISSION_DENIED...: the file cannot be read.
absl::StatusOr<ApiKeys> LoadApiKeys(const std::string& file);

// Whether the keys file that a configuration names, if any, can be read and is right: what a check, a start and a
// reload of the daemon ask.
absl::Status CheckKeysFile(const Config& config);

}  // namespace inferd::config
