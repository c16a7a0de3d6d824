// Any bytes as the configuration, or (after a first 'k') as the file of keys: an error, or values that print and read
// back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/api_keys.h"
#include "config/base/status.h"
#include "config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('k')) {
    const auto keys = inferd::config::ParseApiKeys(std::string(text.substr(1)), "keys.yaml");
    if (keys.ok() && keys->Find("Bearer nobody has this key") != nullptr) std::abort();
    return 0;
  }
  const auto config = inferd::config::ParseConfig(text, "/etc/inferd/inferd.yaml");
  if (!config.ok()) {
    if (!inferd::MessageOf(config.status()).starts_with("/etc/inferd/inferd.yaml")) std::abort();  // says where
    return 0;
  }
  const std::string printed = inferd::config::PrintConfig(*config);
  const auto again = inferd::config::ParseConfig(printed, "/etc/inferd/inferd.yaml");
  if (!again.ok() || inferd::config::PrintConfig(*again) != printed) std::abort();
  return 0;
}
