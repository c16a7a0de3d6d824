// One forward pass over parts of several sequences. Tests replace the model by a function of the tokens.
//
//   DeviceRunner runner(*device);
//   ASSIGN_OR_RETURN(forward::ForwardResult result, runner.Run(steps));
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "engine/forward/forward.h"

namespace inferd::engine {

class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual absl::StatusOr<forward::ForwardResult> Run(std::span<const forward::SequenceStep> steps) = 0;
};

class DeviceRunner : public StepRunner {
 public:
  explicit DeviceRunner(device::Device& device) : device_(device) {}
  absl::StatusOr<forward::ForwardResult> Run(std::span<const forward::SequenceStep> steps) override {
    return forward::Forward(device_, steps);
  }

 private:
  device::Device& device_;
};

}  // namespace inferd::engine
