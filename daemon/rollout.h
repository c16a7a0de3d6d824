// One change of what serves, all or nothing: new versions start beside the old ones, and only when all of them are
// ready does the routing table change, once. Any failure before that leaves everything as it was.
//
//   Rollout rollout(fleet, {.starts = {{.options = model, .file = identity}}}, [&](absl::Status result) { ... });
//   rollout.Begin();
//   ...  rollout.Check() after each change of the fleet
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/fleet.h"

namespace inferd::daemon {

struct StartVersion {
  config::ModelOptions options;
  FileIdentity file;
  // Beside the running versions, with no traffic yet, instead of in their place.
  bool beside = false;
  bool allow_tokenizer_change = false;
  // Without a process until a request comes.
  bool unloaded = false;
};

struct RolloutRequest {
  std::vector<StartVersion> starts;
  // Models to take out of service.
  std::vector<std::string> removes;
  // Models of which only aliases, or when they are loaded, change.
  std::vector<config::ModelOptions> renames;
  Milliseconds drain{30'000};
};

class Rollout {
 public:
  // `done` is called once, from Begin or Check.
  Rollout(Fleet& fleet, RolloutRequest request, std::function<void(const absl::Status&)> done);

  void Begin();
  void Check();
  // Gives up: ends what was started.
  void Abort(const absl::Status& reason);

  // The versions that Begin started, in the order of the request.
  struct Started {
    std::string model;
    uint64_t number;
  };
  const std::vector<Started>& started() const { return started_; }

 private:
  ModelVersion* Find(const Started& started) const;
  // The failure of a version that was started, OK while it may still become ready.
  absl::Status Failure(size_t index) const;
  void Commit();
  void Finish(const absl::Status& status);

  Fleet& fleet_;
  const RolloutRequest request_;
  std::function<void(const absl::Status&)> done_;
  std::vector<Started> started_;
  bool finished_ = false;
};

}  // namespace inferd::daemon
