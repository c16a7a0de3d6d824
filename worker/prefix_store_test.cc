#include "worker/prefix_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "engine/cache/testing_cache.h"

namespace inferd::worker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::string_view kIdentity = "a model";

class PrefixStoreTest : public testing::Test {
 protected:
  PrefixStoreTest() : folder_(fs::path(testing::TempDir()) / ("prefix_store_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~PrefixStoreTest() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "prefixes"; }
  std::unique_ptr<PrefixStore> Open() const {
    auto store = PrefixStore::Open(path());
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // By a store and a cache of its own, as a process does.
  absl::StatusOr<cache::SavedPrefixes> Save(int64_t tokens, uint64_t most_bytes = 1 << 20) const {
    const auto cache = cache::Make(cache::Layout(), 40);
    EXPECT_TRUE(cache::Grow(*cache, **cache->NewSequence({}), cache::Tokens(tokens)).ok());
    return Open()->Save(*cache, kIdentity, most_bytes);
  }
  absl::StatusOr<cache::SavedPrefixes> Load(std::string_view identity = kIdentity) const {
    const auto cache = cache::Make(cache::Layout(), 40);
    return Open()->Load(*cache, identity, clock_.Now() + std::chrono::seconds(1), clock_);
  }
  void Flip(const std::string& file, int64_t offset) const {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(offset);
    const int byte = stream.get();
    stream.seekp(offset);
    stream.put(static_cast<char>(byte ^ 1));
  }

  const fs::path folder_;
  FakeClock clock_;
};

TEST_F(PrefixStoreTest, ANewFileIsEmptyAndForItsOwnerAlone) {
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->pages, 0);
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(PrefixStoreTest, TheNewerOfTwoFilesCountsAndTheOlderIsWritten) {
  for (int64_t tokens : {64, 128, 192, 64}) {
    ASSERT_EQ(Save(tokens)->tokens, tokens);
    EXPECT_EQ(Load()->tokens, tokens);
  }
}

TEST_F(PrefixStoreTest, AFileThatIsSpoiltLeavesTheOther) {
  ASSERT_TRUE(Save(128).ok());
  ASSERT_TRUE(Save(64).ok());
  for (int64_t offset : {10, 20, 40, 400}) {
    Flip(path() + ".2", offset);
    EXPECT_EQ(Load()->tokens, 128) << offset;
    Flip(path() + ".2", offset);
    EXPECT_EQ(Load()->tokens, 64);
  }
  fs::resize_file(path() + ".2", 500);
  EXPECT_EQ(Load()->tokens, 128);
  fs::resize_file(path(), 20);
  const absl::Status status = Load().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(MessageOf(status)), HasSubstr("prefixes.2: it ends at byte 500"));
  ASSERT_TRUE(Save(192).ok());
  EXPECT_EQ(Load()->tokens, 192);
}

TEST_F(PrefixStoreTest, AWriteThatFailsLeavesTheOther) {
  ASSERT_TRUE(Save(128).ok());
  const rlimit before = [] {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit;
  }();
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 5000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_FALSE(Save(192).ok());
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(Load()->tokens, 128);
}

TEST_F(PrefixStoreTest, AnotherModelsIsRefused) {
  ASSERT_TRUE(Save(128).ok());
  EXPECT_EQ(Load("another").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PrefixStoreTest, KeepsToItsSize) {
  ASSERT_LT(Save(640, 20'000)->pages, 10);
  EXPECT_LE(fs::file_size(path()), 20'000u);
  EXPECT_EQ(Load()->pages, 20'000 / (3 * cache::kBlock + 400));
}

TEST_F(PrefixStoreTest, WhatAnotherWorkerWritesIsLeftAlone) {
  ASSERT_TRUE(Save(128).ok());
  ASSERT_TRUE(Save(64).ok());
  const UniqueFd other(open((path() + ".2").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(other.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_EQ(Load()->tokens, 128);
  ASSERT_TRUE(Save(192).ok());
  EXPECT_EQ(Load()->tokens, 192);
}

TEST_F(PrefixStoreTest, AFileThatCannotBeIsAnError) {
  EXPECT_EQ(PrefixStore::Open(folder_ / "none" / "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(PrefixStore::Open(folder_).ok());
  fs::create_symlink("/etc/hostname", path());
  EXPECT_FALSE(PrefixStore::Open(path()).ok());
  fs::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(PrefixStore::Open(path()).ok());
}

// A path of something else, such as the model, is a slip of the pen.
TEST_F(PrefixStoreTest, WhatIsNoFileOfPrefixesStaysAsItIs) {
  for (const std::string& content :
       {std::string("GGUF\3 and the weights"), std::string("x"), std::string(100, '\n'), std::string(100, '\0')}) {
    for (const std::string& file : {path(), path() + ".2"}) {
      std::ofstream(file) << content;
      fs::permissions(file, fs::perms(0644));
      const absl::Status status = PrefixStore::Open(path()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(MessageOf(status)), HasSubstr(file + ": it holds something else"));
      EXPECT_EQ(fs::file_size(file), content.size());
      EXPECT_EQ(fs::status(file).permissions(), fs::perms(0644));
      fs::remove(file);
    }
  }
  // What a write that was cut off leaves.
  for (const std::string& torn : {std::string(32, '\0'), std::string(3, '\0'), std::string("infd")}) {
    std::ofstream(path()) << torn;
    EXPECT_TRUE(PrefixStore::Open(path()).ok());
  }
}

}  // namespace
}  // namespace inferd::worker
