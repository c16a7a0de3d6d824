#include "gateway/http/canonical_path.h"

#include <gtest/gtest.h>

namespace inferd::gateway {
namespace {

TEST(CanonicalPath, GivesOneSpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"/", "/"},
      {"/v1/models", "/v1/models"},
      {"//v1///models/", "/v1/models"},
      {"/v1/../v1/./models", "/v1/models"},
      {"/v1/%6dodels", "/v1/models"},
      {"/%2e%2E/health", nullptr},
      {"/a/%2e%2e/health", "/health"},
      {"/v1/models?x=/../y", "/v1/models"},
      {"/v1/models#f", "/v1/models"},
      {"http://host:80/v1//models", "/v1/models"},
      {"HTTPS://host/health", "/health"},
      {"http://host", "/"},
      {"http://host?x", "/"},
      {"/v1/models/org%2Fname", "/v1/models/org%2Fname"},
      {"/v1/models/org%2fname", "/v1/models/org%2Fname"},
      {"*", "*"},
      {"/..", nullptr},
      {"/v1/../../x", nullptr},
      {"/a%00b", nullptr},
      {"/a%0d%0ab", nullptr},
      {"/a%252e", nullptr},
      {"/a%5cb", nullptr},
      {"/a\\b", nullptr},
      {"/a%zz", nullptr},
      {"/a%2", nullptr},
      {"v1/models", nullptr},
      {"ftp://host/x", nullptr},
      {"host:443", nullptr},
      {"", nullptr},
  };
  for (auto [target, expected] : cases) {
    std::optional<std::string> path = CanonicalPath(target);
    if (expected == nullptr) {
      EXPECT_FALSE(path.has_value()) << target << " became " << *path;
    } else {
      EXPECT_EQ(path.value_or("(none)"), expected) << target;
    }
  }
}

TEST(CanonicalPath, IsItsOwnCanonicalPath) {
  for (const char* target : {"/", "//a/./b/../c", "/v1/models/org%2Fname", "/%61"}) {
    std::optional<std::string> once = CanonicalPath(target);
    ASSERT_TRUE(once);
    EXPECT_EQ(CanonicalPath(*once), once);
  }
}

TEST(CanonicalPath, DecodesSlashesOfANameLast) { EXPECT_EQ(DecodeSlashes("org%2Fname%2F"), "org/name/"); }

}  // namespace
}  // namespace inferd::gateway
