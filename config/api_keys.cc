// Exceptions of the YAML library end here.
#include "config/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "config/base/status.h"
#include "config/yaml_text.h"

namespace inferd::config {
namespace {

constexpr size_t kMaxKeyBytes = 1024;
constexpr uint32_t kMaxRequestsPerMinute = 1'000'000;

absl::StatusOr<std::array<uint8_t, 32>> ParseHash(const std::string& text, const std::string& place) {
  std::array<uint8_t, 32> hash{};
  bool hex = text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isxdigit(c); });
  if (!hex) return InvalidArgument("{}: sha256 is not 64 hex digits", place);
  for (size_t i = 0; i < hash.size(); ++i)
    hash[i] = static_cast<uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return hash;
}

// May throw YAML::Exception.
absl::StatusOr<ApiKey> ParseKey(const YAML::Node& node, const std::string& place) {
  if (!node.IsMap()) return InvalidArgument("{}: expected a mapping with name and sha256", place);
  ApiKey key;
  bool has_hash = false;
  std::set<std::string> seen;
  for (const auto& field : node) {
    std::string name = field.first.as<std::string>();
    if (!seen.insert(name).second) return InvalidArgument("{}: {} is there twice", place, name);
    if (name == "name") {
      key.name = field.second.as<std::string>();
    } else if (name == "sha256") {
      ASSIGN_OR_RETURN(key.sha256, ParseHash(field.second.as<std::string>(), place));
      has_hash = true;
    } else if (name == "models") {
      key.models = field.second.as<std::vector<std::string>>();
      // Who writes an empty list means "none", which is not what it would do.
      if (key.models.empty()) return InvalidArgument("{}: models is an empty list; leave it out to allow all", place);
    } else if (name == "requests_per_minute") {
      key.requests_per_minute = field.second.as<uint32_t>();
      if (*key.requests_per_minute > kMaxRequestsPerMinute) {
        return InvalidArgument("{}: requests_per_minute is more than {}", place, kMaxRequestsPerMinute);
      }
    } else {
      return InvalidArgument("{}: unknown field '{}'", place, name);
    }
  }
  if (key.name.empty()) return InvalidArgument("{}: name is missing", place);
  if (!has_hash) return InvalidArgument("{}: sha256 is missing", place);
  return key;
}

// May throw YAML::Exception.
absl::StatusOr<ApiKeys> ParseNode(const YAML::Node& root, std::string_view file) {
  if (!root.IsMap() || !root["keys"] || !root["keys"].IsSequence() || root.size() != 1) {
    return InvalidArgument("{}: expected a list named keys", file);
  }
  std::vector<ApiKey> keys;
  std::set<std::string> names;
  std::map<std::array<uint8_t, 32>, std::string> hashes;
  for (const YAML::Node& node : root["keys"]) {
    std::string place = fmt::format("{}:{}", file, node.Mark().line + 1);
    ASSIGN_OR_RETURN(ApiKey key, ParseKey(node, place));
    if (!names.insert(key.name).second) return InvalidArgument("{}: the name '{}' is given twice", place, key.name);
    const auto [same, is_new] = hashes.try_emplace(key.sha256, key.name);
    if (!is_new) return InvalidArgument("{}: '{}' has the sha256 of '{}'", place, key.name, same->second);
    keys.push_back(std::move(key));
  }
  return ApiKeys(std::move(keys));
}

}  // namespace

bool ApiKey::MayUse(std::string_view model) const {
  if (models.empty()) return true;
  return std::any_of(models.begin(), models.end(), [&](std::string_view pattern) {
    if (!pattern.empty() && pattern.back() == '*') return model.starts_with(pattern.substr(0, pattern.size() - 1));
    return model == pattern;
  });
}

ApiKeys::ApiKeys(std::vector<ApiKey> keys) {
  for (ApiKey& key : keys) keys_.push_back(std::make_shared<const ApiKey>(std::move(key)));
}

std::shared_ptr<const ApiKey> ApiKeys::Find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size() || authorization.size() > kMaxKeyBytes) return nullptr;
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if (absl::ascii_tolower(authorization[i]) != kScheme[i]) return nullptr;
  }
  std::string_view presented = authorization.substr(kScheme.size());
  std::array<uint8_t, 32> hash;
  SHA256(reinterpret_cast<const unsigned char*>(presented.data()), presented.size(), hash.data());
  // No early end: the time says neither which key was near nor where it differs.
  std::shared_ptr<const ApiKey> found;
  for (const auto& key : keys_) {
    if (CRYPTO_memcmp(key->sha256.data(), hash.data(), hash.size()) == 0) found = key;
  }
  return found;
}

absl::StatusOr<ApiKeys> ParseApiKeys(const std::string& text, std::string_view file) {
  try {
    return ParseNode(LoadSingleDocument(text), file);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}:{}: {}", file, std::max(error.mark.line, 0) + 1, error.msg);
  }
}

absl::StatusOr<ApiKeys> LoadApiKeys(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file));
  return ParseApiKeys(text, file);
}

absl::Status CheckKeysFile(const Config& config) {
  if (config.auth.keys_file.empty()) return absl::OkStatus();
  return AtField("auth.keys_file", LoadApiKeys(config.auth.keys_file).status());
}

}  // namespace inferd::config
