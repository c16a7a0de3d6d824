#include "worker/delivery.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"

namespace inferd::worker {
namespace {

class Counter : public Deliverable {
 public:
  void WriteNext() override { ++writes; }
  std::atomic<int> writes = 0;
};

TEST(Delivery, EveryStreamThatIsWokenIsWritten) {
  std::vector<std::shared_ptr<Counter>> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(std::make_shared<Counter>());
  {
    Delivery delivery;
    for (const auto& stream : streams) delivery.Wake(stream);
  }
  for (const auto& stream : streams) EXPECT_EQ(stream->writes, 1);
}

class Blocked : public Deliverable {
 public:
  void WriteNext() override {
    entered.Notify();
    release.WaitForNotification();
  }
  absl::Notification entered, release;
};

TEST(Delivery, AStreamThatWaitsForItsTurnIsWrittenOnce) {
  auto blocked = std::make_shared<Blocked>();
  auto counter = std::make_shared<Counter>();
  {
    Delivery delivery;
    delivery.Wake(blocked);
    blocked->entered.WaitForNotification();
    for (int i = 0; i < 5; ++i) delivery.Wake(counter);
    blocked->release.Notify();
  }
  EXPECT_EQ(counter->writes, 1);
}

}  // namespace
}  // namespace inferd::worker
