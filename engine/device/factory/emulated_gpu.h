// The emulated GPU, in builds that have it (INFERD_GPU_EMULATOR): one of emulated_gpu.cc and no_emulated_gpu.cc.
//
//   std::unique_ptr<kernels::gpu::GpuStream> stream = MakeEmulatedGpu();   // nullptr: not in this build
#pragma once

#include <memory>

#include "kernels/gpu/gpu_stream.h"

namespace inferd::device {

bool HasEmulatedGpu();
std::unique_ptr<kernels::gpu::GpuStream> MakeEmulatedGpu();

}  // namespace inferd::device
