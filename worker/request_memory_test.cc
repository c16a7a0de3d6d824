#include "worker/request_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/child_process.h"
#include "worker/memory_end.h"

namespace inferd::worker {
namespace {

constexpr uint64_t kMost = 8 << 20;

TEST(RequestMemory, EndsTheWorkThatWantsMore) {
  const absl::Status status = WithinMemory(kMost, [] {
    std::vector<std::string> texts;
    for (;;) texts.emplace_back(1000, 'x');
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find("8 MiB"), std::string_view::npos) << status;
}

TEST(RequestMemory, RefusesWhatIsTooLargeBeforeItIsThere) {
  for (const size_t size : {size_t{kMost} + 1, size_t{1} << 40, size_t{1} << 60}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WithinMemory(kMost, [size] {
      const std::unique_ptr<char[]> memory(new char[size]);
      return memory[0] == 'x' ? absl::OkStatus() : absl::OkStatus();
    })));
  }
}

TEST(RequestMemory, CountsSmallPiecesWithWhatTheyCost) {
  const absl::Status status = WithinMemory(kMost, [] {
    std::map<int, char> nodes;  // of 40 bytes, in blocks of 56
    for (int i = 0; i < 230'000; ++i) nodes[i] = 'x';
    return absl::OkStatus();
  });
  EXPECT_FALSE(status.ok());
}

TEST(RequestMemory, GivesBackWhatIsFreed) {
  EXPECT_TRUE(WithinMemory(kMost, [] {
                for (int i = 0; i < 1000; ++i) std::vector<char>(kMost / 2).back() = 'x';
                return absl::OkStatus();
              }).ok());
}

TEST(RequestMemory, CountsAlignedMemory) {
  struct alignas(64) Line {
    char bytes[64];
  };
  EXPECT_FALSE(WithinMemory(kMost, [] {
                 std::vector<std::unique_ptr<Line[]>> lines;
                 for (;;) lines.emplace_back(new Line[1000]);
                 return absl::OkStatus();
               }).ok());
}

TEST(RequestMemory, IsOfOneThreadAndEndsWithTheWork) {
  EXPECT_TRUE(WithinMemory(kMost, [] {
                std::thread([] { std::vector<char>(4 * kMost).back() = 'x'; }).join();
                return absl::OkStatus();
              }).ok());
  EXPECT_FALSE(MemoryScope::IsActive());
  EXPECT_EQ(std::vector<char>(4 * kMost).size(), 4 * kMost);
  const absl::StatusOr<int> number = WithinMemory(kMost, []() -> absl::StatusOr<int> { return 7; });
  EXPECT_EQ(number.value(), 7);
}

TEST(RequestMemory, IsAPartOfWhatIsLeft) {
  const RequestMemory memory(uint64_t{1} << 40, 3);
  const uint64_t before = memory.most_bytes();
  EXPECT_LT(before, uint64_t{1} << 38);
  EXPECT_GT(before, uint64_t{1} << 37);
  const std::vector<char> more(uint64_t{64} << 20);
  EXPECT_LE(memory.most_bytes(), before - (uint64_t{16} << 20));
  EXPECT_EQ(RequestMemory(1, 3).most_bytes(), 0u);
  EXPECT_GT(RequestMemory(0, 3).most_bytes(), 0u);
  EXPECT_TRUE(memory.Within([] { return absl::OkStatus(); }).ok());
}

// Where memory itself ends, within the bound: the request ends, and the process does not.
TEST(RequestMemoryDeathTest, TheEndOfMemoryEndsTheRequestAlone) {
  const auto run = [] {
    ExitWhereMemoryEnds();
    const rlimit little{.rlim_cur = 64 << 20, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_DATA, &little);
    const absl::Status status = WithinMemory(uint64_t{1} << 40, [] {
      std::vector<std::unique_ptr<char[]>> blocks;
      for (;;) blocks.emplace_back(new char[1 << 20]);
      return absl::OkStatus();
    });
    exit(absl::IsInvalidArgument(status) ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  const auto outside = [] {
    ExitWhereMemoryEnds();
    const rlimit little{.rlim_cur = 64 << 20, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_DATA, &little);
    std::vector<std::unique_ptr<char[]>> blocks;
    for (;;) blocks.emplace_back(new char[1 << 20]);
  };
  EXPECT_EXIT(outside(), testing::ExitedWithCode(kExitOutOfMemory), "");
}

}  // namespace
}  // namespace inferd::worker
