// Which models have a process: those that are asked for, within the memory that all may take together. Idle ones are
// unloaded after their time, and the least recently used make room for others.
//
//   OnDemand on_demand(loop, fleet, config.supervisor);
//   on_demand.StartAll();                       // of the configuration, as far as the budget goes
//   RETURN_IF_ERROR(on_demand.Want("chat"));    // a request waits for it
//   ...  on_demand.Check() after each change of the fleet
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "daemon/fleet.h"
#include "daemon/memory.h"

namespace inferd::daemon {

class OnDemand {
 public:
  // `options` is read when needed: a reload changes it. `available_memory`: what the machine has left.
  OnDemand(EventLoop& loop, Fleet& fleet, const config::SupervisorOptions& options,
           std::function<uint64_t()> available_memory = AvailableMemory);

  // Starts the versions that are to be loaded at once, pinned ones first, and looks after all from now on.
  void StartAll();
  // Loads the unloaded versions of a model that get traffic, as soon as there is room. To be repeated while a request
  // waits: a wish is forgotten after a while.
  //   NOT_FOUND; RESOURCE_EXHAUSTED it cannot fit even if all that may be unloaded is
  absl::Status Want(std::string_view model);
  void Check();
  // Starts and unloads nothing any more: the daemon ends.
  void Stop() { stopped_ = true; }

  // Of all versions that have a process.
  uint64_t planned_bytes() const;

 private:
  void Tick();
  void NoteUse(ModelVersion& version) const;
  void UnloadIdle();
  void LoadWanted();
  bool Fits(const ModelVersion& version) const;
  // Unloads the least recently used version that may be, or lets one go that is on its way. False: there is none.
  bool MakeRoom(const Model* spared, std::string_view why, bool busy_too);
  void Unload(ModelVersion& version, std::string_view why);
  void ForEach(const std::function<void(ModelVersion&)>& visit) const;

  EventLoop& loop_;
  Fleet& fleet_;
  const config::SupervisorOptions& options_;
  const std::function<uint64_t()> available_memory_;
  bool checking_ = false;
  bool stopped_ = false;
};

}  // namespace inferd::daemon
