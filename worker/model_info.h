// What ListModels and Stats tell of a model.
#pragma once

#include "inferd/v1/inference.pb.h"
#include "worker/loaded_model.h"

namespace inferd::worker {

v1::ModelInfo ModelInfoOf(const LoadedModel& model);

}  // namespace inferd::worker
