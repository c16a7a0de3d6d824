#include "daemon/file_watch.h"

#include <gtest/gtest.h>

#include "config/base/status.h"

namespace inferd::daemon {
namespace {

const FileIdentity kLoaded{.device = 1, .inode = 10, .size_bytes = 100, .changed_nanoseconds = 5, .header_digest = 7};
const FileIdentity kOverwritten{
    .device = 1, .inode = 10, .size_bytes = 100, .changed_nanoseconds = 6, .header_digest = 7};
const FileIdentity kHalfWritten{
    .device = 1, .inode = 10, .size_bytes = 50, .changed_nanoseconds = 6, .header_digest = 7};
const FileIdentity kReplacement{
    .device = 1, .inode = 11, .size_bytes = 90, .changed_nanoseconds = 6, .header_digest = 8};
const absl::Status kGone = NotFound("no such file");

using Files = std::vector<absl::StatusOr<FileIdentity>>;

// The verdicts on what is seen, one look after the other.
std::vector<FileVerdict> JudgeAll(const Files& files, bool failed, const FileIdentity& loaded = kLoaded) {
  SeenFile seen;
  std::vector<FileVerdict> verdicts;
  for (const absl::StatusOr<FileIdentity>& file : files) verdicts.push_back(JudgeFile(loaded, failed, file, seen));
  return verdicts;
}

using V = FileVerdict;
using Verdicts = std::vector<FileVerdict>;

TEST(FileWatch, AFileThatStaysIsNothing) {
  EXPECT_EQ(JudgeAll({kLoaded, kLoaded}, false), (Verdicts{V::kNothing, V::kNothing}));
  EXPECT_EQ(JudgeAll({kLoaded, kLoaded}, true), (Verdicts{V::kNothing, V::kNothing}));
}

TEST(FileWatch, AChangeIsActedOnOnceWhenItIsOver) {
  EXPECT_EQ(JudgeAll({kLoaded, kHalfWritten, kOverwritten, kOverwritten, kOverwritten}, false),
            (Verdicts{V::kNothing, V::kWait, V::kWait, V::kOverwritten, V::kNothing}));
  EXPECT_EQ(JudgeAll({kReplacement, kReplacement, kReplacement}, false),
            (Verdicts{V::kWait, V::kReplaced, V::kNothing}));
}

TEST(FileWatch, AMissingFileIsToldOnceAndHarmsNobody) {
  EXPECT_EQ(JudgeAll({kGone, kGone, kLoaded, kGone}, false),
            (Verdicts{V::kMissing, V::kNothing, V::kNothing, V::kMissing}));
}

TEST(FileWatch, AFailedModelIsTriedWhenItsFileChangesOrIsBack) {
  EXPECT_EQ(JudgeAll({kReplacement, kReplacement, kReplacement}, true), (Verdicts{V::kWait, V::kChanged, V::kNothing}));
  EXPECT_EQ(JudgeAll({kOverwritten, kOverwritten}, true), (Verdicts{V::kWait, V::kChanged}));
  EXPECT_EQ(JudgeAll({kGone, kLoaded, kLoaded, kLoaded}, true),
            (Verdicts{V::kMissing, V::kWait, V::kBack, V::kNothing}));
  // It was not there when the daemon started.
  EXPECT_EQ(JudgeAll({kGone, kLoaded, kLoaded, kLoaded}, true, FileIdentity()),
            (Verdicts{V::kMissing, V::kWait, V::kChanged, V::kNothing}));
}

}  // namespace
}  // namespace inferd::daemon
