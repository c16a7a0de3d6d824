#include "daemon/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"

namespace inferd::daemon {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;

// What a manager was told by `talk`.
template <typename Talk>
std::vector<std::string> Told(Talk talk) {
  std::vector<std::string> told;
  {
    ServiceManager manager([&told](const std::string& message) { told.push_back(message); });
    talk(manager);
  }
  return told;
}

TEST(ServiceManager, IsToldEachStateInOrder) {
  const auto told = Told([](ServiceManager& manager) {
    manager.Ready("2 of 2 ready");
    manager.Reloading(MonotonicTime(microseconds(1234567)));
    manager.Ready("3 of 3 ready");
    manager.FeedWatchdog();
    manager.Stopping("draining");
  });
  EXPECT_THAT(told, ElementsAre("READY=1\nSTATUS=2 of 2 ready", "RELOADING=1\nMONOTONIC_USEC=1234567\nSTATUS=reloading",
                                "READY=1\nSTATUS=3 of 3 ready", "WATCHDOG=1", "STOPPING=1\nSTATUS=draining"));
}

TEST(ServiceManager, IsToldAStatusThatChanged) {
  const auto told = Told([](ServiceManager& manager) {
    manager.Ready("a");
    for (const char* line : {"a", "b", "b", "a"}) manager.Status(line);
    manager.Stopping("c");
    manager.Status("c");
  });
  EXPECT_THAT(told, ElementsAre("READY=1\nSTATUS=a", "STATUS=b", "STATUS=a", "STOPPING=1\nSTATUS=c"));
}

TEST(ServiceManager, NobodyWaitsForOneThatDoesNotRead) {
  std::vector<std::string> told;
  absl::Notification reads;
  {
    ServiceManager manager([&](const std::string& message) {
      reads.WaitForNotification();
      told.push_back(message);
    });
    for (const char* line : {"a", "b", "c"}) manager.Status(line);
    manager.FeedWatchdog();
    reads.Notify();
  }
  EXPECT_THAT(told, ElementsAre("STATUS=a", "STATUS=b", "STATUS=c", "WATCHDOG=1"));
}

TEST(ServiceManager, WithoutOneNothingHappens) {
  ServiceManager manager;
  manager.Ready("a");
  manager.Stopping("b");
}

}  // namespace
}  // namespace inferd::daemon
