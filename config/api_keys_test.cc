#include "config/api_keys.h"

#include <gtest/gtest.h>

#include <fstream>

#include "config/base/status.h"

namespace inferd::config {
namespace {

// sha256("foo") and sha256("bar"), by sha256sum
constexpr char kFoo[] = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
constexpr char kBar[] = "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9";

ApiKeys TwoKeys() {
  auto keys = ParseApiKeys(fmt::format("keys:\n- {{name: a, sha256: {}}}\n- name: b\n  sha256: {}\n"
                                       "  models: [chat, 'embed-*']\n  requests_per_minute: 60\n",
                                       kFoo, kBar),
                           "keys.yaml");
  EXPECT_TRUE(keys.ok()) << keys.status();
  return *std::move(keys);
}

TEST(ApiKeys, FindsByHash) {
  ApiKeys keys = TwoKeys();
  ASSERT_NE(keys.Find("Bearer foo"), nullptr);
  EXPECT_EQ(keys.Find("Bearer foo")->name, "a");
  EXPECT_EQ(keys.Find("bearer bar")->name, "b");
  EXPECT_EQ(keys.Find("bearer bar")->requests_per_minute, 60u);
  for (const char* wrong : {"", "foo", "Bearer", "Bearer ", "Bearer fo", "Bearer foo ", "Bearer  foo", "Basic foo",
                            "Bearer 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"}) {
    EXPECT_EQ(keys.Find(wrong), nullptr) << wrong;
  }
  EXPECT_EQ(keys.Find("Bearer " + std::string(1 << 20, 'x')), nullptr);
}

TEST(ApiKeys, AllowsModelsByNameAndPattern) {
  ApiKeys keys = TwoKeys();
  EXPECT_TRUE(keys.Find("Bearer foo")->MayUse("anything"));
  std::shared_ptr<const ApiKey> limited = keys.Find("Bearer bar");
  EXPECT_TRUE(limited->MayUse("chat"));
  EXPECT_TRUE(limited->MayUse("embed-large"));
  EXPECT_FALSE(limited->MayUse("chat2"));
  EXPECT_FALSE(limited->MayUse("embed"));
}

TEST(ApiKeys, NamesFileAndLineOfAnError) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "keys.yaml"},
      {"keys: 5", "keys.yaml"},
      {"other: []", "keys.yaml"},
      {"keys:\n- {name: a, sha256: xyz}", "keys.yaml:2"},
      {"keys:\n- {name: a}", "keys.yaml:2"},
      {fmt::format("keys:\n- {{sha256: {}}}", kFoo), "keys.yaml:2"},
      {fmt::format("keys:\n- {{name: a, sha256: {}}}\n- {{name: a, sha256: {}}}", kFoo, kBar), "keys.yaml:3"},
      {fmt::format("keys:\n- {{name: a, sha256: {0}}}\n- {{name: b, sha256: {0}}}", kFoo), "keys.yaml:3: 'b' has"},
      {fmt::format("keys:\n- {{name: a, sha256: {}, model: x}}", kFoo), "keys.yaml:2"},
      {fmt::format("keys:\n- {{name: a, sha256: {}, models: []}}", kFoo), "keys.yaml:2"},
      {fmt::format("keys:\n- {{name: a, sha256: {}, requests_per_minute: many}}", kFoo), "keys.yaml:2"},
      {"keys:\n- [", "keys.yaml:"},
      {fmt::format("keys:\n- {{name: a, sha256: {0}, sha256: {0}}}", kFoo), "keys.yaml:2"},
      {fmt::format("keys:\n- {{name: a, sha256: {}}}\n---\nkeys: []\n", kFoo), "keys.yaml:4"},
  };
  for (const auto& [text, place] : cases) {
    auto keys = ParseApiKeys(text, "keys.yaml");
    ASSERT_TRUE(absl::IsInvalidArgument(keys.status())) << text;
    EXPECT_TRUE(MessageOf(keys.status()).starts_with(place)) << keys.status();
  }
}

TEST(CheckKeysFile, SaysWhatIsWrongWithTheFileThatAConfigurationNames) {
  Config config;
  EXPECT_TRUE(CheckKeysFile(config).ok()) << "no key is asked for";
  config.auth.keys_file = "/nowhere/keys.yaml";
  EXPECT_EQ(CheckKeysFile(config).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(MessageOf(CheckKeysFile(config)).starts_with("auth.keys_file: /nowhere/keys.yaml"));
  config.auth.keys_file = testing::TempDir() + "/keys.yaml";
  std::ofstream(config.auth.keys_file) << "keys:\n- {name: a}\n";
  EXPECT_EQ(MessageOf(CheckKeysFile(config)), "auth.keys_file: " + config.auth.keys_file + ":2: sha256 is missing");
  std::ofstream(config.auth.keys_file) << fmt::format("keys:\n- {{name: a, sha256: {}}}\n", kFoo);
  EXPECT_TRUE(CheckKeysFile(config).ok()) << CheckKeysFile(config);
}

}  // namespace
}  // namespace inferd::config
