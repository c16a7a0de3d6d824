// The models of this host and the worker of each of their versions. What is routed and what runs is decided here and
// shown by two views: the routing table and the status.
//
//   Fleet fleet(loop, spawner, make_plan, [&] { board.Publish(fleet.Routes()); });
//   Model& model = fleet.AddModel(options);
//   ModelVersion& version = fleet.AddVersion(model, options, identity);
//   fleet.Route(version, 100);
//   fleet.Start(version);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "daemon/file_identity.h"
#include "daemon/managed_process.h"

namespace inferd::v1 {
class RouteSnapshot;
class StatusResponse;
class WorkerStatus;
}  // namespace inferd::v1

namespace inferd::daemon {

struct Model;

struct ModelVersion {
  Model* model;
  uint64_t number;
  config::ModelOptions options;
  FileIdentity file;
  std::unique_ptr<ManagedProcess> process;
  // In the routing table, with this share (0..100, relative to the other versions).
  bool routed = false;
  uint32_t weight = 0;
  // How the file differs from `file` since it was last looked at, as WorkerStatus tells it.
  std::string file_change;
  // Out of the routes for good: forgotten as soon as its process has ended.
  bool retired = false;
  // What it said when it first became ready; a restarted process must say the same.
  std::string fingerprint;
  WallTime updated_at;

  // Routed without a process, or about to lose it: a request brings it back (on_demand.h).
  bool unloaded = false;
  // Started as soon as its former process is gone.
  bool start_when_stopped = false;
  // When a request last ran, as far as reports tell, and the progress of the newest report.
  MonotonicTime used_at;
  uint64_t progress_seen = 0;
  // While requests wait for it: since when, and when one said so last.
  std::optional<MonotonicTime> wanted_since;
  MonotonicTime wanted_at;

  bool ready() const { return process->state() == WorkerState::kReady; }
};

struct Model {
  config::ModelOptions options;
  std::vector<std::unique_ptr<ModelVersion>> versions;  // oldest first
  uint64_t next_number = 1;
  // Taken out of service by an operator, its workers kept: named in the routes, without a version.
  bool drained = false;

  // The newest routed version, else the newest; null if there is none.
  ModelVersion* Current() const;
  ModelVersion* Find(uint64_t number) const;
};

class Fleet {
 public:
  // `make_plan` says how to run a version; its `verify` is added here.
  using MakePlan = std::function<ProcessPlan(const config::ModelOptions&, uint64_t version)>;

  // `on_change`: a process changed its state, or what is routed changed.
  Fleet(EventLoop& loop, Spawner& spawner, MakePlan make_plan, std::function<void()> on_change);

  Model& AddModel(const config::ModelOptions& options);
  // Null if there is none of that name; Resolve takes aliases, too.
  Model* Find(std::string_view name) const;
  Model* Resolve(std::string_view name) const;
  const std::map<std::string, std::unique_ptr<Model>>& models() const { return models_; }

  // Neither started nor routed yet.
  ModelVersion& AddVersion(Model& model, const config::ModelOptions& options, const FileIdentity& file);
  void Route(ModelVersion& version, uint32_t weight);
  // Starts its process, after the end of a former one that is being unloaded.
  void Start(ModelVersion& version, Haste haste = Haste::kFull);
  // Takes its process away and leaves it routed, as UNLOADED.
  void Unload(ModelVersion& version, Milliseconds drain, Milliseconds grace);
  // Takes it out of the routes at once, ends it after a drain and then forgets it, with its model if none is left.
  // `grace`: time for the gateway to learn of it before the worker refuses new requests.
  void Retire(ModelVersion& version, Milliseconds drain, Milliseconds grace);

  // Takes it out of the routes and leaves it running.
  void Unroute(ModelVersion& version);
  // Several changes that are seen as one: on_change is called once, after them.
  void Atomically(const std::function<void()>& changes);

  // Of the processes that are there; new ones get what make_plan says.
  void SetOptions(const config::SupervisorOptions& options);

  // False if no worker has this process.
  bool OnExit(pid_t pid, int wait_status);
  // Whether the process is a worker.
  bool Has(pid_t pid) const;
  // Whether a version has this user for its processes.
  bool HasUser(uint32_t user) const;
  // All workers: for the end of the daemon.
  void StopAll(Milliseconds drain);
  void KillAll();
  bool AnyProcess() const;
  bool AnyReady() const;
  // Every routed version is READY or FAILED.
  bool Settled() const;
  std::string Summary() const;

  v1::RouteSnapshot Routes() const;
  void FillStatus(v1::StatusResponse& status) const;
  static void FillStatus(const ModelVersion& version, v1::WorkerStatus& status);

 private:
  bool Any(const std::function<bool(const ManagedProcess&)>& holds) const;
  absl::Status Verify(ModelVersion& version, const WorkerReport& report);
  void OnProcessChange(Model* model, uint64_t number);
  void StopLater(const ModelVersion& version, Milliseconds drain, Milliseconds grace);
  void Changed();
  void OnStopped(const std::string& model, uint64_t number);
  void Forget(const std::string& model, uint64_t number);

  EventLoop& loop_;
  Spawner& spawner_;
  const MakePlan make_plan_;
  const std::function<void()> on_change_;
  bool holding_changes_ = false;
  std::map<std::string, std::unique_ptr<Model>> models_;
  // Numbers go on when a model comes back, so that no socket and no metric is used twice.
  std::map<std::string, uint64_t> next_numbers_;
};

}  // namespace inferd::daemon
