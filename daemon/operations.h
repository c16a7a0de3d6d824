// What operators ask for: one change at a time, in the order of asking. Each answers when it is done or has failed; a
// failed one changed nothing, except that a reload keeps new models when only the gateway fails.
//
//   Operations operations({...});
//   operations.Reload(/*dry_run=*/false, [](absl::StatusOr<std::vector<std::string>> changes) { ... });
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/background.h"
#include "daemon/fleet.h"
#include "daemon/memory.h"
#include "daemon/reload.h"
#include "daemon/rollout.h"

namespace inferd::daemon {

// What operations work on.
struct OperationsContext {
  EventLoop& loop;
  Fleet& fleet;
  std::string config_file;
  // The configuration in force; a reload replaces it.
  config::Config& config;
  // Applies what a reload changes beside the models, then calls `done`; the configuration is the new one already.
  std::function<void(const ReloadPlan&, std::function<void(absl::Status)> done)> apply_settings;
  std::function<bool()> gateway_failed;
  // Puts a new gateway in the place of the present one.
  std::function<void(std::function<void(absl::Status)> done)> replace_gateway;
  // The program file that the gateway was started from.
  std::function<FileIdentity()> gateway_started;
  std::function<pid_t()> gateway_pid;
  std::string gateway_program;
  std::function<uint64_t()> available_memory = AvailableMemory;
};

struct SwapOptions {
  std::string model;
  std::string path;  // empty: the present one, read again
  bool allow_tokenizer_change = false;
  bool dry_run = false;
  Milliseconds drain{0};
};

struct SwapResult {
  uint64_t old_version = 0;
  uint64_t new_version = 0;
  std::string fingerprint;
  MemoryPlan plan;
};

class Operations {
 public:
  template <typename Result>
  using Done = std::function<void(absl::StatusOr<Result>)>;

  explicit Operations(OperationsContext context) : context_(std::move(context)), background_(context_.loop) {}

  // Makes the running set equal to the configuration file; answers with a line for each change.
  void Reload(bool dry_run, Done<std::vector<std::string>> done);
  void Swap(const SwapOptions& options, Done<SwapResult> done);
  // A configured model that is not running, a failed one, or a new name with a path. A running one with a path gets a
  // version beside it without traffic.
  void Load(const std::string& model, const std::string& path, bool dry_run, Done<SwapResult> done);
  // Answers with the number of requests that did not end in time.
  void Unload(const std::string& model, uint64_t version, Milliseconds drain, Done<uint32_t> done);
  // Takes a model, or all with "", out of the routes and waits for its requests; Load brings it back.
  void Drain(const std::string& model, Milliseconds deadline, Done<uint32_t> done);
  // Answers with the new one's process id.
  void RestartGateway(Done<pid_t> done);
  absl::Status SetTraffic(const std::string& model, const std::map<uint64_t, uint32_t>& weights);

  // To be called after each change of the fleet.
  void OnFleetChange();
  // Ends the present operation and refuses those that wait.
  void Cancel();
  bool busy() const { return running_; }

 private:
  using Task = std::function<void()>;

  // Runs `task` when those before it have called Next.
  void Enqueue(Task task, std::function<void(absl::Status)> refuse);
  void NextTask();
  // Answers and goes on to the next task.
  template <typename Result>
  void Answer(const Done<Result>& done, absl::StatusOr<Result> result);

  void PlanAndReload(absl::StatusOr<IdentifiedConfig> next, bool dry_run, Done<std::vector<std::string>> done);
  RunningState Running() const;
  void StartVersionAndAnswer(StartVersion start, const FileIdentity& file, SwapOptions options, Done<SwapResult> done);
  void BeginRollout(RolloutRequest request, std::function<void(const absl::Status&)> done);
  // `promised`: bytes that others get that start with it.
  MemoryPlan PlanFor(const config::ModelOptions& model, const FileIdentity& file, uint64_t promised = 0) const;
  void RestartAndAnswer(Model& model, Done<SwapResult> done);
  struct IdleWait {
    std::vector<std::pair<std::string, uint64_t>> versions;  // model and number
    MonotonicTime since;                                     // only later reports count
    MonotonicTime deadline;
    std::function<void(uint32_t unfinished)> done;
  };
  IdleWait NewIdleWait(Milliseconds limit, const Done<uint32_t>& done);
  void WaitForIdle(const IdleWait& wait);

  const OperationsContext context_;
  Background background_;
  struct Waiting {
    Task task;
    std::function<void(absl::Status)> refuse;
  };
  std::deque<Waiting> queue_;
  bool running_ = false;
  bool cancelled_ = false;
  std::unique_ptr<Rollout> rollout_;
  // Called after each change of the fleet until it returns true.
  std::function<bool()> condition_;
};

}  // namespace inferd::daemon
