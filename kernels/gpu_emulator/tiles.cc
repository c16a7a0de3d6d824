// The product of two tiles by a warp, by the layout that kernels use, too.
#include <cstring>

#include "kernels/gpu/gpu.h"

namespace inferd::kernels::gpu {
namespace {

void Combine(gpu_emulator::WarpSlots& slots) {
  int8_t a[16][32], b[8][32];
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    for (int r = 0; r < 4; ++r) {
      std::memcpy(&a[TileLayout::RowOfA(lane, r)][TileLayout::DepthOfA(lane, r)], &slots.a[lane][r], 4);
    }
    for (int r = 0; r < 2; ++r) {
      std::memcpy(&b[TileLayout::ColumnOfB(lane)][TileLayout::DepthOfB(lane, r)], &slots.b[lane][r], 4);
    }
  }
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const int8_t *row = a[TileLayout::RowOfD(lane, r)], *column = b[TileLayout::ColumnOfD(lane, r)];
      int32_t sum = 0;
      for (int i = 0; i < 32; ++i) sum += row[i] * column[i];
      slots.d[lane][r] = sum;
    }
  }
}

}  // namespace

void MultiplyTiles(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  gpu_emulator::WarpSlots& slots = gpu_emulator::NextSlots();
  const int lane = Lane();
  std::memcpy(slots.a[lane], a, sizeof(a));
  std::memcpy(slots.b[lane], b, sizeof(b));
  gpu_emulator::Meet(gpu_emulator::Collective::kTiles, Combine);
  std::memcpy(d, slots.d[lane], sizeof(d));
}

}  // namespace inferd::kernels::gpu
