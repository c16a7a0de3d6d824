#include "worker/quiet_load.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

namespace inferd::worker {
namespace {

int Niceness() { return getpriority(PRIO_PROCESS, 0); }

TEST(QuietLoad, LowersTheThreadsOfTheLoadAndBringsAllBack) {
  const int before = Niceness();
  QuietLoad quiet = QuietLoad::Begin();
  std::atomic<int> of_the_pool = -100, later = -100;
  std::atomic<bool> ended = false;
  std::thread pool([&] {
    of_the_pool = Niceness();
    while (!ended) std::this_thread::yield();
    later = Niceness();
  });
  while (of_the_pool == -100) std::this_thread::yield();
  // Without the right to come back nothing is lowered.
  EXPECT_EQ(Niceness() > before, quiet.active());
  EXPECT_EQ(of_the_pool, Niceness());
  quiet.End();
  ended = true;
  pool.join();
  EXPECT_EQ(Niceness(), before);
  EXPECT_EQ(later, before);
}

}  // namespace
}  // namespace inferd::worker
