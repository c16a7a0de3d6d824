#include "engine/device/factory/device_factory.h"

#include <utility>

#include "config/base/status.h"
#include "engine/device/cpu/blas.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/split/split_device.h"

namespace inferd::device {
namespace {

absl::Status CheckName(const std::string& name) {
  if (name == "cpu") return absl::OkStatus();
  return InvalidArgument("device \"{}\": unknown, expected cpu", name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CreateDevice(std::shared_ptr<const model::Model> model,
                                                     const DeviceOptions& options, const DeviceChoice& choice) {
  RETURN_IF_ERROR(CheckName(choice.name));
  return CpuDevice::Create(std::move(model), options, choice.cpu);
}

absl::StatusOr<std::unique_ptr<Device>> CreateSplitDevice(std::shared_ptr<const model::Model> model,
                                                          const DeviceOptions& options,
                                                          const std::vector<LayerShare>& shares) {
  const auto layers = static_cast<int32_t>(model->spec().layers.size());
  std::vector<SplitDevice::Part> parts;
  LayerRange range;
  for (const LayerShare& share : shares) {
    RETURN_IF_ERROR(CheckName(share.name));
    range = {range.end, share.layers == 0 ? layers : range.end + share.layers};
    if (range.end > layers || range.begin >= range.end) {
      return InvalidArgument("device \"{}\": layers {}..{}, the model has {}", share.name, range.begin, range.end - 1,
                             layers);
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, CpuDevice::CreatePart(model, options, share.cpu, range));
    parts.push_back({std::move(device), range});
  }
  if (range.end != layers) return InvalidArgument("devices: layers {}..{} have none", range.end, layers - 1);
  return SplitDevice::Create(std::move(model), options, std::move(parts));
}

absl::Status LoadBlas() { return Blas::Open().status(); }

}  // namespace inferd::device
