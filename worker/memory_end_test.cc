#include "worker/memory_end.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "config/base/child_process.h"

namespace inferd::worker {
namespace {

void LimitMemory() {
  const rlimit little{.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};  // what is there already stays
  setrlimit(RLIMIT_DATA, &little);
}

TEST(MemoryEndDeathTest, AnAllocationThatFailsHasAnExitCodeOfItsOwn) {
  const auto allocate = [] {
    ExitWhereMemoryEnds();
    LimitMemory();
    const std::unique_ptr<char[]> more(new char[64 << 20]);
    exit(more[1] == 'x');
  };
  EXPECT_EXIT(allocate(), testing::ExitedWithCode(kExitOutOfMemory), "");
}

TEST(MemoryEndDeathTest, SoHasAThreadThatGetsNoStack) {
  const auto start = []() noexcept {  // nobody catches it, as in a program
    ExitWhereMemoryEnds();
    LimitMemory();
    std::thread([] {}).join();
    exit(0);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(kExitOutOfMemory), "");
}

TEST(MemoryEndDeathTest, AnAbortWithMemoryLeftIsOne) {
  const auto fail = [] {
    ExitWhereMemoryEnds();
    abort();
  };
  EXPECT_EXIT(fail(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace inferd::worker
