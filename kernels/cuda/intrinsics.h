// The operations of kernels/gpu/gpu.h on NVIDIA GPUs; included by it alone.
//
//   float y = gpu::MultiplyAdd(a, b, c);   // fma.rn.f32
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#define GPU_KERNEL(threads, name, ...) __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
#define GPU_DEVICE __device__ __forceinline__
#define GPU_BOTH __host__ __device__ __forceinline__
#define GPU_UNROLL _Pragma("unroll")
#define GPU_UNROLL_BY(count) _Pragma(GPU_TEXT(unroll count))
#define GPU_TEXT(...) #__VA_ARGS__
#define GPU_SHARED(type, name, dimensions) __shared__ type name dimensions

namespace inferd::kernels::gpu {

GPU_DEVICE int Thread() { return static_cast<int>(threadIdx.x); }
GPU_DEVICE int Lane() { return static_cast<int>(threadIdx.x % 32); }
GPU_DEVICE int Warp() { return static_cast<int>(threadIdx.x / 32); }
GPU_DEVICE int BlockX() { return static_cast<int>(blockIdx.x); }
GPU_DEVICE int BlockY() { return static_cast<int>(blockIdx.y); }
GPU_DEVICE int BlockZ() { return static_cast<int>(blockIdx.z); }

GPU_DEVICE void SyncThreads() { __syncthreads(); }
GPU_DEVICE void SyncWarp() { __syncwarp(); }
template <class T>
GPU_DEVICE T ShuffleXor(T value, int mask) {
  static_assert(sizeof(T) == 4);
  return __shfl_xor_sync(0xFFFFFFFFu, value, mask);
}

GPU_DEVICE float Multiply(float a, float b) { return __fmul_rn(a, b); }
GPU_DEVICE float MultiplyAdd(float a, float b, float c) { return __fmaf_rn(a, b, c); }
GPU_DEVICE float Divide(float a, float b) { return __fdiv_rn(a, b); }
GPU_DEVICE float SquareRoot(float x) { return __fsqrt_rn(x); }
GPU_DEVICE float HalfToFloat(uint16_t half) { return __half2float(__ushort_as_half(half)); }
GPU_DEVICE uint16_t FloatToHalf(float x) { return __half_as_ushort(__float2half_rn(x)); }
GPU_DEVICE float FloatOfBits(uint32_t bits) { return __uint_as_float(bits); }
GPU_DEVICE uint32_t BitsOfFloat(float x) { return __float_as_uint(x); }

GPU_DEVICE int Dot4(uint32_t a, uint32_t b, int c) { return __dp4a(static_cast<int>(a), static_cast<int>(b), c); }

GPU_DEVICE void MultiplyTiles(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
}

GPU_DEVICE void CopyAsync16(void* shared, const void* global) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}
GPU_DEVICE void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kGroupsLeft>
GPU_DEVICE void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}

}  // namespace inferd::kernels::gpu
