#include "gateway/serving/request_id.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"

namespace inferd::gateway {
namespace {

bool IsSane(std::string_view id) {
  auto allowed = [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == ':' || c == '-'; };
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), allowed);
}

}  // namespace

uint64_t RandomBits() {
  thread_local std::mt19937_64 generator = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return generator();
}

std::string RandomHex(int digits) {
  std::string text;
  while (static_cast<int>(text.size()) < digits) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    uint64_t bits = RandomBits();
    for (int i = 0; i < 16 && static_cast<int>(text.size()) < digits; ++i, bits >>= 4)
      text.push_back(kDigits[bits & 15]);
  }
  return text;
}

std::string MakeRequestId(std::string_view offered) {
  return IsSane(offered) ? std::string(offered) : "req-" + RandomHex(24);
}

}  // namespace inferd::gateway
