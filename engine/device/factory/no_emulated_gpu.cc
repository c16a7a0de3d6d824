#include "engine/device/factory/emulated_gpu.h"

namespace inferd::device {

std::unique_ptr<kernels::gpu::GpuStream> MakeEmulatedGpu() { return nullptr; }

}  // namespace inferd::device
