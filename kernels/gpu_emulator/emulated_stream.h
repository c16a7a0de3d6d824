// An emulated GPU with one stream, as engines drive GPUs.
//
//   std::unique_ptr<gpu::GpuStream> stream = MakeEmulatedStream({LaneOrder::kRandom, 7});
#pragma once

#include <memory>

#include "kernels/gpu/gpu_stream.h"
#include "kernels/gpu_emulator/block.h"

namespace inferd::kernels::gpu_emulator {

std::unique_ptr<gpu::GpuStream> MakeEmulatedStream(Schedule schedule = {});

}  // namespace inferd::kernels::gpu_emulator
