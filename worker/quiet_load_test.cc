#include "worker/quiet_load.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "config/sandbox/privileges.h"

namespace inferd::worker {
namespace {

int Niceness() { return getpriority(PRIO_PROCESS, 0); }

// In a process group of its own, as the supervisor starts workers.
void LowersTheThreadsOfTheLoadAndBringsAllBack() {
  setpgid(0, 0);
  sandbox::AllowReturnOfNiceness();
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

TEST(QuietLoad, LowersTheThreadsOfTheLoadAndBringsAllBack) {
  EXPECT_EXIT(
      {
        LowersTheThreadsOfTheLoadAndBringsAllBack();
        _exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(QuietLoad, LowersNothingInTheGroupOfOthers) {
  EXPECT_EXIT(
      {
        const bool active = QuietLoad::Begin().active();
        _exit(getpgrp() != getpid() && active ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace inferd::worker
