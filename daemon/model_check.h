// Whether a worker could serve a model, asked of the worker's program: it alone reads what model files hold.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<SystemSpawner> spawner, SystemSpawner::Create());
//   RETURN_IF_ERROR(CheckByWorker(*spawner, programs, config, model));
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/config.h"
#include "daemon/memory.h"
#include "daemon/spawner.h"

namespace inferd::daemon {

// Waits for the process, which becomes `user` if that is not 0. INVALID_ARGUMENT with what the worker reports;
// FAILED_PRECONDITION says how it ended without a report. It is the first to be killed where memory ends, so that there
// is somebody to say so.
absl::Status CheckByWorker(Spawner& spawner, const std::string& programs, const config::Config& config,
                           const config::ModelOptions& model, uint32_t user = 0,
                           const std::function<uint64_t()>& out_of_memory_kills = OutOfMemoryKills);

// Whether the machine has what the options name: the processors of `cpus`, and a folder that kv_cache.save can be
// written to. INVALID_ARGUMENT begins with the option.
absl::Status CheckMachine(const config::ModelOptions& model);

}  // namespace inferd::daemon
