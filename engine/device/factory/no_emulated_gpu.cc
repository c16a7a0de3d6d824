#include "engine/device/factory/emulated_gpu.h"

namespace inferd::device {

bool HasEmulatedGpu() { return false; }

std::unique_ptr<kernels::gpu::GpuStream> MakeEmulatedGpu() { return nullptr; }

}  // namespace inferd::device
