#include "daemon/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace inferd::daemon {
namespace {

TEST(EventLoop, RunsTimersInTheOrderOfTheirTimes) {
  FakeClock clock;
  const auto loop = EventLoop::Create(clock).value();
  std::string order;
  loop->RunAfter(Milliseconds(20), [&] { order += 'b'; });
  loop->RunAfter(Milliseconds(10), [&] { order += 'a'; });
  loop->RunAfter(Milliseconds(30), [&] { order += 'c'; });
  loop->RunPending();
  EXPECT_EQ(order, "");
  clock.Advance(Milliseconds(25));
  loop->RunPending();
  EXPECT_EQ(order, "ab");
}

TEST(EventLoop, ATimerMayCancelAnotherThatIsDue) {
  FakeClock clock;
  const auto loop = EventLoop::Create(clock).value();
  EventLoop::TimerId second = 0;
  bool ran = false;
  loop->RunAfter(Milliseconds(1), [&] { loop->Cancel(second); });
  second = loop->RunAfter(Milliseconds(2), [&] { ran = true; });
  clock.Advance(Milliseconds(5));
  loop->RunPending();
  EXPECT_FALSE(ran);
}

TEST(EventLoop, AJumpOfTheDateMovesNoTimer) {
  FakeClock clock;
  const auto loop = EventLoop::Create(clock).value();
  bool ran = false;
  loop->RunAfter(Milliseconds(1000), [&] { ran = true; });
  clock.JumpWall(std::chrono::hours(1));
  loop->RunPending();
  EXPECT_FALSE(ran);
}

TEST(EventLoop, WakesForWorkOfOtherThreads) {
  const auto loop = EventLoop::Create(Clock::System()).value();
  int count = 0;
  std::thread poster([&] {
    for (int i = 0; i < 100; ++i) loop->Post([&] { ++count; });
    loop->Post([&] { loop->Stop(); });
  });
  loop->Run();
  poster.join();
  EXPECT_EQ(count, 100);
}

TEST(EventLoop, CallsForAReadableDescriptorAndAClosedOne) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  const auto loop = EventLoop::Create(Clock::System()).value();
  std::string seen;
  loop->WatchReadable(reader.get(), [&] {
    char byte = 0;
    if (read(reader.get(), &byte, 1) == 1) {
      seen += byte;
      writer.Reset();
    } else {
      seen += '.';
      loop->Unwatch(reader.get());
      loop->Stop();
    }
  });
  ASSERT_EQ(write(writer.get(), "x", 1), 1);
  loop->Run();
  EXPECT_EQ(seen, "x.");
}

}  // namespace
}  // namespace inferd::daemon
