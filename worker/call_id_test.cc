#include "worker/call_id.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace inferd::worker {
namespace {

TEST(CallId, IsNineLettersAndDigits) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string id = CallId(CallIdKey(seed, {}), 0, 0);
    EXPECT_EQ(id.size(), 9u);
    for (char c : id) EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c))) << id;
  }
}

TEST(CallId, DependsOnTheRequestAlone) {
  const std::vector<int32_t> prompt = {1, 2, 3};
  EXPECT_EQ(CallId(CallIdKey(7, prompt), 1, 2), CallId(CallIdKey(7, prompt), 1, 2));
  // In every process and version: a stream may go on in another one.
  EXPECT_EQ(CallId(CallIdKey(7, prompt), 1, 2), "4yQyvS4Mc");
}

TEST(CallId, DiffersByPromptSeedChoiceAndIndex) {
  std::set<std::string> ids;
  for (uint64_t seed : {1, 2}) {
    for (const std::vector<int32_t>& prompt : {std::vector<int32_t>{}, {0}, {1}, {0, 1}, {1, 0}}) {
      for (uint32_t choice : {0, 1}) {
        for (uint32_t index : {0, 1}) ids.insert(CallId(CallIdKey(seed, prompt), choice, index));
      }
    }
  }
  EXPECT_EQ(ids.size(), 2u * 5 * 2 * 2);
}

}  // namespace
}  // namespace inferd::worker
