// Looks again and again whether the models' files are still those that were loaded. By polling: it works on network
// file systems too, where nothing tells, and costs a few reads.
//
//   FileWatch watch(loop, fleet, operations);
//   watch.Start();
//
// A file overwritten in place changes under the worker that has mapped it: what it computes from then on is broken, and
// on_file_change says what happens. A file that was replaced (renamed over) or removed stays whole for the worker; the
// log says that a reload serves the new one. A FAILED model is tried again when its file changes or comes back. A file
// is acted on once it has stopped changing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/background.h"
#include "daemon/fleet.h"
#include "daemon/operations.h"

namespace inferd::daemon {

// What is to be done about a file.
enum class FileVerdict {
  kNothing,
  kWait,         // it may still be changing
  kOverwritten,  // in place, and it stays so
  kReplaced,     // another file has its name
  kMissing,
  kBack,     // of a FAILED model: as it was, after it had been missing
  kChanged,  // of a FAILED model: another one
};

// What was seen of one version's file before.
struct SeenFile {
  absl::StatusOr<FileIdentity> last = absl::UnknownError("not seen");
  bool missing = false;  // since the version was last tried
  absl::StatusOr<FileIdentity> acted_on = absl::UnknownError("none");
};

// Of the file that is there now, beside the one that was loaded; notes it in `seen`.
FileVerdict JudgeFile(const FileIdentity& loaded, bool failed, const absl::StatusOr<FileIdentity>& now, SeenFile& seen);

class FileWatch {
 public:
  FileWatch(EventLoop& loop, Fleet& fleet, Operations& operations)
      : loop_(loop), fleet_(fleet), operations_(operations), background_(loop) {}

  void Start();

 private:
  using Key = std::pair<std::string, uint64_t>;  // model and version
  using Found = std::vector<std::pair<Key, absl::StatusOr<FileIdentity>>>;

  void Look();
  void Judge(const Found& found);
  void Act(const ModelVersion& version, FileVerdict verdict, const absl::StatusOr<FileIdentity>& now);
  void Reload(const std::string& model, bool serves);
  void Refuse(const std::string& model);

  EventLoop& loop_;
  Fleet& fleet_;
  Operations& operations_;
  std::map<Key, SeenFile> seen_;
  Background background_;
};

}  // namespace inferd::daemon
