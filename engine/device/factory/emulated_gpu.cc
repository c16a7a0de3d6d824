#include "engine/device/factory/emulated_gpu.h"

#include "kernels/gpu_emulator/emulated_stream.h"

namespace inferd::device {

bool HasEmulatedGpu() { return true; }

std::unique_ptr<kernels::gpu::GpuStream> MakeEmulatedGpu() { return kernels::gpu_emulator::MakeEmulatedStream(); }

}  // namespace inferd::device
