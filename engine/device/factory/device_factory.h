// Devices by name.
//
//   ASSIGN_OR_RETURN(auto device, CreateDevice(model, {.context_tokens = 4096}, {.cpu = {.threads = 2}}));
//   ASSIGN_OR_RETURN(auto both, CreateSplitDevice(model, {}, {{.name = "cpu", .layers = 8}, {.name = "cpu"}}));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/device/cpu/cpu_options.h"
#include "engine/device/device.h"

namespace inferd::device {

// Those of this build: "cpu", and where it has the emulated GPU (INFERD_GPU_EMULATOR) "emulated".
std::vector<std::string> DeviceNames();

struct DeviceChoice {
  std::string name = "cpu";  // one of DeviceNames()
  CpuOptions cpu;
};

// INVALID_ARGUMENT names the device, option or tensor that cannot be run; RESOURCE_EXHAUSTED for memory.
absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::shared_ptr<const model::Model> model,
                                                     const DeviceOptions& options, const DeviceChoice& choice = {});

// The next `layers` layers on one device; 0: all that are left.
struct LayerShare {
  std::string name = "cpu";
  CpuOptions cpu;
  int32_t layers = 0;
};

// One device that runs each share of the layers on a device of its own, one after the other. INVALID_ARGUMENT also
// where the shares are not all layers, or layers that use one memory are on different devices.
absl::StatusOr<std::unique_ptr<Device>> CreateSplitDevice(std::shared_ptr<const model::Model> model,
                                                          const DeviceOptions& options,
                                                          const std::vector<LayerShare>& shares);

// Loads what CpuOptions::blas needs, for a process that will soon lose the right to open files.
absl::Status LoadBlas();

}  // namespace inferd::device
