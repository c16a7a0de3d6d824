#include "engine/generation/event_queue.h"

#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

Event Text(size_t bytes) {
  return Delta{.parts = {{.kind = output::PartKind::kContent, .text = std::string(bytes, 'x')}}};
}

TEST(EventQueue, GivesEventsInOrderAndThenTheEnd) {
  int changes = 0;
  EventQueue queue(1 << 20, [&] { ++changes; });
  EXPECT_TRUE(queue.Push(Accepted{.prompt_tokens = 7}));
  EXPECT_TRUE(queue.Push(Text(3)));
  queue.Close(absl::OkStatus());
  EXPECT_EQ(changes, 3);
  EXPECT_FALSE(queue.End()) << "not while events are left";
  EXPECT_EQ(std::get<Accepted>(*queue.Pop()).prompt_tokens, 7u);
  EXPECT_EQ(std::get<Delta>(*queue.Pop()).parts[0].text, "xxx");
  EXPECT_FALSE(queue.Pop());
  EXPECT_EQ(queue.End(), absl::OkStatus());
}

TEST(EventQueue, RefusesMoreThanItsBound) {
  EventQueue queue(2000, [] {});
  EXPECT_TRUE(queue.Push(Text(1000)));
  EXPECT_FALSE(queue.Push(Text(1000)));
}

TEST(EventQueue, AGapIsNeverFollowedByMoreEventsOrAGoodEnd) {
  int changes = 0;
  EventQueue queue(2000, [&] { ++changes; });
  ASSERT_TRUE(queue.Push(Text(1000)));
  ASSERT_FALSE(queue.Push(Text(1000)));
  EXPECT_EQ(changes, 2) << "the end is told too";
  ASSERT_TRUE(queue.Pop());
  EXPECT_FALSE(queue.Push(Finished{})) << "although there is room again";
  queue.Close(absl::OkStatus());
  EXPECT_FALSE(queue.Pop());
  EXPECT_EQ(queue.End(), absl::CancelledError("the reader has fallen too far behind"));
}

TEST(EventQueue, ReadingMakesRoom) {
  EventQueue queue(2000, [] {});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(queue.Push(Text(1000)));
    ASSERT_TRUE(queue.Pop());
  }
}

TEST(EventQueue, OneEventOfAnySizeFindsRoom) {
  EventQueue queue(10, [] {});
  EXPECT_TRUE(queue.Push(Text(100000)));
}

TEST(EventQueue, TakesNothingAfterTheEndAndKeepsTheFirstStatus) {
  EventQueue queue(1 << 20, [] {});
  queue.Close(absl::CancelledError("first"));
  queue.Close(absl::OkStatus());
  EXPECT_FALSE(queue.Push(Text(1)));
  EXPECT_EQ(queue.End(), absl::CancelledError("first"));
}

}  // namespace
}  // namespace inferd::engine
