#include "worker/outgoing.h"

#include <gtest/gtest.h>

#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

class OutgoingTest : public testing::Test {
 protected:
  OutgoingTest() { model_.tokenizer = std::make_unique<FakeTokenizer>(); }

  // Choices take turns, so that no delta can be joined to the one before.
  static engine::Event Text(uint32_t i) {
    return engine::Delta{.choice = i % 2, .parts = {{.kind = output::PartKind::kContent, .text = std::to_string(i)}}};
  }

  LoadedModel model_;
  Outgoing outgoing_{model_};
};

TEST_F(OutgoingTest, WhatASlowReaderLeavesCountsInTheQueuesBound) {
  engine::EventQueue queue(20000, [] {});
  uint32_t pushed = 0, read = 0;
  // Ten new events for each that is read.
  for (bool room = true; room && read < 1000; ++read) {
    for (int i = 0; i < 10 && room; ++i) {
      room = queue.Push(Text(pushed));
      pushed += room ? 1 : 0;
    }
    if (room) {
      EXPECT_EQ(outgoing_.Next(queue)->delta().text(), std::to_string(read));
    }
  }
  EXPECT_LT(pushed, 500u) << "the queue has not been emptied into a list without a bound";
}

TEST_F(OutgoingTest, GivesAllEventsInOrder) {
  engine::EventQueue queue(1 << 20, [] {});
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(queue.Push(Text(i)));
  for (uint32_t i = 0; i < 100; ++i) ASSERT_EQ(outgoing_.Next(queue)->delta().text(), std::to_string(i));
  EXPECT_FALSE(outgoing_.Next(queue));
}

TEST_F(OutgoingTest, JoinsDeltasThatWait) {
  engine::EventQueue queue(1 << 20, [] {});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.Push(Text(0)));
  EXPECT_EQ(outgoing_.Next(queue)->delta().text(), std::string(100, '0'));
}

TEST_F(OutgoingTest, DroppingLeavesNothingAndStillCounts) {
  engine::EventQueue queue(1 << 20, [] {});
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(queue.Push(Text(i)));
  ASSERT_TRUE(queue.Push(engine::Finished{.usage = {.completion_tokens = 100}}));
  queue.Close(absl::OkStatus());
  ASSERT_TRUE(outgoing_.Next(queue));
  outgoing_.Drop(queue);
  EXPECT_FALSE(outgoing_.Next(queue));
  EXPECT_EQ(queue.End(), absl::OkStatus()) << "a cancelled call comes to its end";
  EXPECT_EQ(outgoing_.completion_tokens(), 100u);
}

TEST_F(OutgoingTest, CountsTheTokensOfChoicesThatAreCutOff) {
  engine::EventQueue queue(1 << 20, [] {});
  ASSERT_TRUE(queue.Push(engine::Accepted{.prompt_tokens = 7}));
  ASSERT_TRUE(queue.Push(engine::Delta{.choice = 0, .tokens = {1, 2}}));
  ASSERT_TRUE(queue.Push(engine::Delta{.choice = 1, .tokens = {3}}));
  ASSERT_TRUE(queue.Push(engine::Finished{.choice = 0, .usage = {.completion_tokens = 2}}));
  ASSERT_TRUE(queue.Push(engine::Delta{.choice = 1, .tokens = {4}}));
  queue.Close(absl::CancelledError(""));
  outgoing_.Drop(queue);
  EXPECT_EQ(outgoing_.prompt_tokens(), 7u);
  EXPECT_EQ(outgoing_.completion_tokens(), 4u);
}

}  // namespace
}  // namespace inferd::worker
