#include "engine/device/factory/device_factory.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/device/cpu/blas.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/factory/emulated_gpu.h"
#include "engine/device/gpu/gpu_device.h"
#include "engine/device/split/split_device.h"

namespace inferd::device {
namespace {

absl::Status Unknown(const std::string& name) {
  return InvalidArgument("device \"{}\": unknown, expected {}", name, fmt::join(DeviceNames(), ", "));
}

absl::StatusOr<std::unique_ptr<Device>> CreatePart(std::shared_ptr<const model::Model> model,
                                                   const DeviceOptions& options, const LayerShare& share,
                                                   LayerRange layers) {
  if (share.name == "cpu") return CpuDevice::CreatePart(std::move(model), options, share.cpu, layers);
  if (auto stream = share.name == "emulated" ? MakeEmulatedGpu() : nullptr) {
    return GpuDevice::CreatePart(std::move(model), options, std::move(stream), layers);
  }
  return Unknown(share.name);
}

}  // namespace

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names = {"cpu"};
  if (HasEmulatedGpu()) names.emplace_back("emulated");
  return names;
}

absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::shared_ptr<const model::Model> model,
                                                     const DeviceOptions& options, const DeviceChoice& choice) {
  if (choice.name == "cpu") return CpuDevice::Create(std::move(model), options, choice.cpu);
  if (auto stream = choice.name == "emulated" ? MakeEmulatedGpu() : nullptr) {
    return GpuDevice::Create(std::move(model), options, std::move(stream));
  }
  return Unknown(choice.name);
}

absl::StatusOr<std::unique_ptr<Device>> CreateSplitDevice(std::shared_ptr<const model::Model> model,
                                                          const DeviceOptions& options,
                                                          const std::vector<LayerShare>& shares) {
  const auto layers = static_cast<int32_t>(model->spec().layers.size());
  std::vector<SplitDevice::Part> parts;
  LayerRange range;
  const std::vector<std::string> names = DeviceNames();
  for (const LayerShare& share : shares) {
    if (std::find(names.begin(), names.end(), share.name) == names.end()) return Unknown(share.name);
    range = {range.end, share.layers == 0 ? layers : range.end + share.layers};
    if (range.end > layers || range.begin >= range.end) {
      return InvalidArgument("device \"{}\": layers {}..{}, the model has {}", share.name, range.begin, range.end - 1,
                             layers);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CreatePart(model, options, share, range));
    parts.push_back({std::move(device), range});
  }
  if (range.end != layers) return InvalidArgument("devices: layers {}..{} have none", range.end, layers - 1);
  return SplitDevice::Create(std::move(model), options, std::move(parts));
}

absl::Status LoadBlas() { return Blas::Open().status(); }

}  // namespace inferd::device
