// Starts the supervisor's children and signals them. A child gets its configuration in a sealed memory file, the read
// end of the lifeline (it ends when the supervisor does) and a pipe on which it says why it failed.
//
//   ASSIGN_OR_RETURN(auto spawner, SystemSpawner::Create());
//   ASSIGN_OR_RETURN(Spawned child, spawner->Spawn({.program = ".../inferd-worker", .arguments = {"--model", "chat"},
//                                                   .config_yaml = PrintConfig(config)}));
//   spawner->Signal(child.pid, SIGTERM);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/unique_fd.h"
#include "daemon/control_groups.h"

namespace inferd::daemon {

struct ProcessSpec {
  std::string program;
  // After the program's name. --config, --lifeline-fd, --report-fd and the descriptors' flags are added.
  std::vector<std::string> arguments;
  std::string config_yaml;
  // Flag and open descriptor of ours that the child inherits, e.g. {"--http-fd", 7}.
  std::vector<std::pair<std::string, int>> descriptors;
  // -1000..1000, added to what the kernel weighs when memory runs out: more is killed earlier.
  int oom_score = 0;
  // Processors that it may use; empty: ours.
  std::vector<uint32_t> cpus;
  // Added to our niceness.
  int nice = 0;
  // Of its private memory (RLIMIT_DATA); 0: our limit.
  uint64_t memory_limit_bytes = 0;
  // That its arguments make it become, as the first thing; 0: ours.
  uint32_t user = 0;
  // Where control groups are ours to make: with such a limit it gets this one, for so much more as it maps of files.
  uint64_t mapped_bytes = 0;
  std::string group;
};

// Exit code of a child whose program could not be run, as shells have it.
inline constexpr int kExitNotExecuted = 127;

struct Spawned {
  pid_t pid = -1;
  // Read end of the report pipe, non-blocking.
  UniqueFd report;
};

// What a child that has ended reported before, as INVALID_ARGUMENT; OK: nothing.
absl::Status ReadReport(const UniqueFd& report);

class Spawner {
 public:
  virtual ~Spawner() = default;
  // A program that cannot be executed is a child that exits with 127 and reports its path and why.
  virtual absl::StatusOr<Spawned> Spawn(const ProcessSpec& spec) = 0;
  virtual void Signal(pid_t pid, int signal) = 0;
  // SIGTERM, with the time that the process may take for what it has begun.
  virtual void Terminate(pid_t pid, Milliseconds drain) = 0;
};

class SystemSpawner : public Spawner {
 public:
  // `groups`: null where there are none.
  static absl::StatusOr<std::unique_ptr<SystemSpawner>> Create(std::unique_ptr<ControlGroups> groups = nullptr);

  absl::StatusOr<Spawned> Spawn(const ProcessSpec& spec) override;
  void Signal(pid_t pid, int signal) override;
  void Terminate(pid_t pid, Milliseconds drain) override;

 private:
  SystemSpawner(UniqueFd lifeline_read, UniqueFd lifeline_write, UniqueFd null_file,
                std::unique_ptr<ControlGroups> groups)
      : groups_(std::move(groups)),
        lifeline_read_(std::move(lifeline_read)),
        lifeline_write_(std::move(lifeline_write)),
        null_file_(std::move(null_file)) {}

  const std::unique_ptr<ControlGroups> groups_;
  const UniqueFd lifeline_read_;
  const UniqueFd lifeline_write_;  // held open; closed by the kernel when we die
  const UniqueFd null_file_;
};

}  // namespace inferd::daemon
