// The operations of kernels/gpu/gpu.h on a CPU; included by it alone.
//
//   float y = gpu::MultiplyAdd(a, b, c);   // fused, rounded once
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/gpu_emulator/block.h"
#include "kernels/reference/half.h"

#define GPU_KERNEL(threads, name, ...) \
  inline void name(::inferd::kernels::gpu_emulator::MostThreads<(threads)>, __VA_ARGS__)
#define GPU_DEVICE inline
#define GPU_BOTH inline
#define GPU_UNROLL
#define GPU_UNROLL_BY(count)
// Each instance of a template has arrays of its own, as the lambda has a static of its own.
#define GPU_SHARED(type, name, dimensions)                                                     \
  typedef type name##Array dimensions;                                                         \
  name##Array& name = *static_cast<name##Array*>(::inferd::kernels::gpu_emulator::SharedArray( \
      [] {                                                                                     \
        static const char kDeclaration = 0;                                                    \
        return &kDeclaration;                                                                  \
      }(),                                                                                     \
      sizeof(name##Array)))

namespace inferd::kernels::gpu {

inline int Thread() { return gpu_emulator::Thread(); }
inline int Lane() { return Thread() % 32; }
inline int Warp() { return Thread() / 32; }
inline int BlockX() { return static_cast<int>(gpu_emulator::BlockIndex().x); }
inline int BlockY() { return static_cast<int>(gpu_emulator::BlockIndex().y); }
inline int BlockZ() { return static_cast<int>(gpu_emulator::BlockIndex().z); }

using gpu_emulator::SyncThreads;
inline void SyncWarp() { gpu_emulator::Meet(gpu_emulator::Collective::kSync, nullptr); }
template <class T>
T ShuffleXor(T value, int mask) {
  static_assert(sizeof(T) == 4);
  gpu_emulator::WarpSlots& slots = gpu_emulator::NextSlots();
  const int lane = Lane();
  slots.values[lane] = std::bit_cast<uint32_t>(value);
  gpu_emulator::CheckLane(lane ^ mask);
  gpu_emulator::Meet(gpu_emulator::Collective::kShuffle, nullptr);
  return std::bit_cast<T>(slots.values[lane ^ mask]);
}

inline float Multiply(float a, float b) { return a * b; }
inline float MultiplyAdd(float a, float b, float c) { return std::fma(a, b, c); }
inline float Divide(float a, float b) { return a / b; }
inline float SquareRoot(float x) { return std::sqrt(x); }
inline float HalfToFloat(uint16_t half) { return reference::FloatFromHalf(half); }
inline uint16_t FloatToHalf(float x) { return reference::HalfFromFloat(x); }
inline float FloatOfBits(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t BitsOfFloat(float x) { return std::bit_cast<uint32_t>(x); }

inline int Dot4(uint32_t a, uint32_t b, int c) {
  for (int i = 0; i < 32; i += 8) c += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
  return c;
}

void MultiplyTiles(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

inline void CopyAsync16(void* shared, const void* global) { gpu_emulator::StartCopy(shared, global, 16); }
inline void CommitCopies() { gpu_emulator::CommitCopies(); }
template <int kGroupsLeft>
void WaitCopies() {
  gpu_emulator::WaitCopies(kGroupsLeft);
}

}  // namespace inferd::kernels::gpu
