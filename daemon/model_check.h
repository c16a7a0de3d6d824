// Whether a worker could serve a model, asked of the worker's program: it alone reads what model files hold.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<SystemSpawner> spawner, SystemSpawner::Create());
//   RETURN_IF_ERROR(CheckByWorker(*spawner, programs, config, model));
#pragma once

#include <string>

#include "config/config.h"
#include "daemon/spawner.h"

namespace inferd::daemon {

// Waits for the process. INVALID_ARGUMENT with what the worker reports; FAILED_PRECONDITION if it cannot be asked.
absl::Status CheckByWorker(Spawner& spawner, const std::string& programs, const config::Config& config,
                           const config::ModelOptions& model);

// Whether the machine has what the options name: the processors of `cpus`, and a folder that kv_cache.save can be
// written to. INVALID_ARGUMENT begins with the option.
absl::Status CheckMachine(const config::ModelOptions& model);

}  // namespace inferd::daemon
