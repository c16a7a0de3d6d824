// The models of a folder: each GGUF file that no model of the configuration has, under its own name.
//
//   RETURN_IF_ERROR(AddModelsOf("/var/lib/inferd/models", config.models));
//   // .../Qwen3-8B-Q4_K_M.gguf is the model Qwen3-8B-Q4_K_M
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "config/load.h"

namespace inferd::daemon {

// Adds them in the order of their names, with default options but for preload, which is false. A model in several files
// is named by the first one without its number; what no name may have becomes "-". Other files mean nothing, and
// folders within are not looked into. The error of the system where the folder cannot be read; INVALID_ARGUMENT where a
// name is taken.
absl::Status AddModelsOf(const std::string& directory, std::vector<config::ModelOptions>& models);

// config::LoadConfig, and the models of its models_directory. In `lines` their paths stand where models_directory does.
absl::StatusOr<config::Config> LoadConfigWithModels(const std::string& file, config::OptionLines* lines = nullptr);

}  // namespace inferd::daemon
