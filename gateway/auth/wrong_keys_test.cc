#include "gateway/auth/wrong_keys.h"

#include <gtest/gtest.h>

namespace inferd::gateway {
namespace {

TEST(WrongKeys, MakeAnAddressWait) {
  FakeClock clock;
  WrongKeys keys(3, clock);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(keys.MustWait("10.0.0.1", "guess")) << i;
    keys.NoteWrong("10.0.0.1");
  }
  EXPECT_EQ(keys.MustWait("10.0.0.1", "guess"), Milliseconds(20'000));
  EXPECT_FALSE(keys.MustWait("10.0.0.2", "guess")) << "another address";
  clock.Advance(Milliseconds(20'000));
  EXPECT_FALSE(keys.MustWait("10.0.0.1", "guess"));
  keys.NoteWrong("10.0.0.1");
  EXPECT_TRUE(keys.MustWait("10.0.0.1", "guess"));
}

TEST(WrongKeys, LetKeysPassThatWereRightFromThere) {
  FakeClock clock;
  WrongKeys keys(1, clock);
  keys.NoteRight("10.0.0.1", "secret");
  keys.NoteWrong("10.0.0.1");
  EXPECT_FALSE(keys.MustWait("10.0.0.1", "secret"));
  EXPECT_TRUE(keys.MustWait("10.0.0.1", "other"));
  keys.NoteWrong("10.0.0.2");
  EXPECT_TRUE(keys.MustWait("10.0.0.2", "secret")) << "whether a key is right must not show to one that is slowed down";
}

TEST(WrongKeys, AreAllowedInAnyNumber) {
  FakeClock clock;
  WrongKeys keys(0, clock);
  for (int i = 0; i < 1000; ++i) keys.NoteWrong("10.0.0.1");
  EXPECT_FALSE(keys.MustWait("10.0.0.1", "guess"));
}

TEST(WrongKeys, RememberSoManyAddresses) {
  FakeClock clock;
  WrongKeys keys(1, clock);
  for (size_t i = 0; i < WrongKeys::kMostEntries; ++i) keys.NoteWrong(std::to_string(i));
  clock.Advance(std::chrono::minutes(1));
  keys.NoteWrong("recent");
  EXPECT_TRUE(keys.MustWait("recent", ""));
  EXPECT_FALSE(keys.MustWait("7", ""));
  for (size_t i = 0; i < 2 * WrongKeys::kMostEntries; ++i) keys.NoteWrong(std::to_string(i));
  EXPECT_TRUE(keys.MustWait(std::to_string(2 * WrongKeys::kMostEntries - 1), ""));
}

}  // namespace
}  // namespace inferd::gateway
