// What GPU kernels are written in: one source for nvcc and for the emulator, which runs it on a CPU.
//
//   GPU_KERNEL(64, Scale, const float* x, float factor, int n, float* out) {
//     const int i = gpu::BlockX() * 64 + gpu::Thread();
//     if (i < n) out[i] = gpu::Multiply(x[i], factor);
//   }
//
// Nothing else of CUDA may be used in kernels/gpu: what is not here does not exist on some side. The operations on
// floats round once each, to nearest even, and are never fused, so that every side gives the bits of
// kernels/reference.
//
//   GPU_KERNEL(threads, name, ...)  a kernel whose blocks have at most so many threads; its parameters follow, whose
//                                   pointers, also those in structs, are to memory of the device
//   GPU_DEVICE                      a function that kernels call; GPU_BOTH: that the host may call, too
//   GPU_SHARED(type, name, [n][m])  an array that the threads of a block share; undefined until written
//   GPU_UNROLL, GPU_UNROLL_BY(n)    the loop that follows is unrolled
//   Thread(), Lane(), Warp()        of the block's threads; a warp is 32 of them
//   BlockX(), BlockY(), BlockZ()    of the grid's blocks
//   SyncThreads(), SyncWarp()       barriers of all threads of the block, of all lanes of the warp
//   ShuffleXor(value, mask)         the value of lane (own ^ mask); all lanes of the warp take part. 4 bytes
//   Multiply, MultiplyAdd (fma), Divide, SquareRoot, HalfToFloat, FloatToHalf
//   Dot4(a, b, c)                   c + the dot product of four int8 in a and four in b
//   MultiplyTiles(d, a, b)          d = a * b of int8 tiles, by all lanes of the warp; see TileLayout
//   CopyAsync16(shared, global)     starts a copy of 16 bytes, both aligned to it
//   CommitCopies(), WaitCopies<n>() closes a group of the thread's copies; waits for all but the last n groups
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include "kernels/cuda/intrinsics.h"  // IWYU pragma: export
#else
#include "kernels/gpu_emulator/intrinsics.h"  // IWYU pragma: export
#endif

namespace inferd::kernels::gpu {

constexpr int kWarpLanes = 32;

// Which elements of a tile product a lane holds: 16 rows of a times 8 columns of b, 32 deep (PTX ISA, section
// "Matrix Fragments for mma.m16n8k32"). Register r of a and of b holds four neighbours along the depth.
struct TileLayout {
  static GPU_DEVICE int RowOfA(int lane, int r) { return lane / 4 + (r & 1) * 8; }
  static GPU_DEVICE int DepthOfA(int lane, int r) { return lane % 4 * 4 + (r >> 1) * 16; }
  static GPU_DEVICE int ColumnOfB(int lane) { return lane / 4; }
  static GPU_DEVICE int DepthOfB(int lane, int r) { return lane % 4 * 4 + r * 16; }
  static GPU_DEVICE int RowOfD(int lane, int r) { return lane / 4 + (r >> 1) * 8; }
  static GPU_DEVICE int ColumnOfD(int lane, int r) { return lane % 4 * 2 + (r & 1); }
};

}  // namespace inferd::kernels::gpu
