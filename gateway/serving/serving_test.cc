#include "gateway/serving/serving.h"

#include <gtest/gtest.h>

#include <set>

#include "config/api_keys.h"

namespace inferd::gateway {
namespace {

config::ApiKey Named(const std::string& name) {
  config::ApiKey key;
  key.name = name;
  return key;
}

TEST(CallerOf, IsTheKeyElseTheNetwork) {
  const config::ApiKey key = Named("a");
  EXPECT_EQ(CallerOf(&key, "10.0.0.1"), CallerOf(&key, "10.0.0.2"));
  EXPECT_NE(CallerOf(nullptr, "10.0.0.1"), CallerOf(nullptr, "10.0.0.2"));
  EXPECT_EQ(CallerOf(nullptr, "2001:db8::1"), CallerOf(nullptr, "2001:db8::2"));
}

TEST(CacheSaltOf, IsTheClientsOwnWithoutKeys) {
  EXPECT_EQ(CacheSaltOf(nullptr, ""), "");
  EXPECT_EQ(CacheSaltOf(nullptr, "mine"), "mine");
}

TEST(CacheSaltOf, DiffersBetweenKeysWhateverTheySend) {
  config::ApiKey a = Named("a");
  config::ApiKey ab = Named("ab");
  std::set<std::string> salts = {CacheSaltOf(&a, ""),  CacheSaltOf(&a, "b"),  CacheSaltOf(&a, "bc"),
                                 CacheSaltOf(&ab, ""), CacheSaltOf(&ab, "b"), CacheSaltOf(&ab, "c")};
  EXPECT_EQ(salts.size(), 6u);
  EXPECT_FALSE(salts.contains(""));
}

TEST(CacheSaltOf, IsTheSameForOneKeyAndSalt) {
  config::ApiKey key = Named("a");
  config::ApiKey again = Named("a");
  EXPECT_EQ(CacheSaltOf(&key, "s"), CacheSaltOf(&again, "s"));
  // What the protocol takes.
  EXPECT_EQ(CacheSaltOf(&key, std::string(256, 's')).size(), 64u);
}

}  // namespace
}  // namespace inferd::gateway
