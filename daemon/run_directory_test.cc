#include "daemon/run_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "config/base/status.h"

namespace inferd::daemon {
namespace {

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() {
    char path[] = "/tmp/inferd-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    root = path;
  }
  ~RunDirectoryTest() override { std::filesystem::remove_all(root); }

  std::string root;
};

TEST_F(RunDirectoryTest, IsMadeForItsOwnerAlone) {
  ASSERT_TRUE(PrepareRunDirectory(root + "/run").ok());
  struct stat file;
  ASSERT_EQ(stat((root + "/run/w").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700u);
}

TEST_F(RunDirectoryTest, IsLockedWhileItIsInUse) {
  auto lock = PrepareRunDirectory(root);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(PrepareRunDirectory(root).status().code(), absl::StatusCode::kAlreadyExists);
  lock->Reset();
  EXPECT_TRUE(PrepareRunDirectory(root).ok());
}

TEST_F(RunDirectoryTest, LeftWorkerSocketsAreRemovedAndNothingElse) {
  std::filesystem::create_directory(root + "/w");
  std::ofstream(root + "/w/chat-1.sock") << "";
  std::ofstream(root + "/w/notes.txt") << "";
  ASSERT_TRUE(PrepareRunDirectory(root).ok());
  EXPECT_FALSE(std::filesystem::exists(root + "/w/chat-1.sock"));
  EXPECT_TRUE(std::filesystem::exists(root + "/w/notes.txt"));
}

TEST_F(RunDirectoryTest, AFileInItsPlaceIsRefused) {
  std::ofstream(root + "/run") << "";
  const auto lock = PrepareRunDirectory(root + "/run");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(WorkerSocketPath, KeepsPlainNames) {
  EXPECT_EQ(WorkerSocketPath("/run/inferd", "chat", 12), "/run/inferd/w/chat-12.sock");
}

TEST(WorkerSocketPath, TellsNamesApartThatLookAlikeInAFileName) {
  const std::string slash = WorkerSocketPath("/r", "org/model", 1), colon = WorkerSocketPath("/r", "org:model", 1);
  EXPECT_NE(slash, colon);
  EXPECT_EQ(slash.find('/', 5), std::string::npos) << slash;
  EXPECT_NE(WorkerSocketPath("/r", "..", 1).find("/w/__-"), std::string::npos);
}

TEST(WorkerSocketPath, AlwaysFitsASocketAddress) {
  const std::string directory(80, 'd');
  const std::string first = WorkerSocketPath(directory, std::string(128, 'm'), 999'999'999);
  EXPECT_LE(first.size(), 107u);
  EXPECT_NE(first, WorkerSocketPath(directory, std::string(127, 'm'), 999'999'999));
}

}  // namespace
}  // namespace inferd::daemon
