// One forward pass over parts of several sequences. Tests replace the model by a function of the tokens.
//
//   DeviceRunner runner(*device);
//   ASSIGN_OR_RETURN(model::ForwardResult result, runner.Run(steps));
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "engine/model/forward.h"

namespace inferd::engine {

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual absl::StatusOr<model::ForwardResult> Run(std::span<const model::SequenceStep> steps) = 0;
};

class DeviceRunner : public StepRunner {
 public:
  explicit DeviceRunner(device::Device& device) : device_(device) {}
  absl::StatusOr<model::ForwardResult> Run(std::span<const model::SequenceStep> steps) override {
    return model::Forward(device_, steps);
  }

 private:
  device::Device& device_;
};

}  // namespace inferd::engine
