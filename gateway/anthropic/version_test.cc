#include "gateway/anthropic/version.h"

#include <gtest/gtest.h>

namespace inferd::gateway {
namespace {

TEST(AnthropicVersion, IsAKnownOneOrWarnedOfOrRefused) {
  struct Case {
    const char* version;
    int warnings;  // -1: refused
  };
  const Case cases[] = {{"2023-06-01", 0},   {"2026-10-21", 0},  {"2024-01-01", 1}, {"2031-12-31", 1},
                        {"2023-01-01", -1},  {"2023-05-31", -1}, {"latest", -1},    {"2026-10-2", -1},
                        {"2026-10-211", -1}, {"2026/10/21", -1}};
  for (const Case& one : cases) {
    Request request;
    request.headers = {{"anthropic-version", one.version}};
    const absl::StatusOr<std::vector<std::string>> warnings = ReadVersion(request);
    EXPECT_EQ(warnings.ok() ? static_cast<int>(warnings->size()) : -1, one.warnings) << one.version;
  }
  EXPECT_EQ(ReadVersion(Request()).value(), std::vector<std::string>());
}

}  // namespace
}  // namespace inferd::gateway
