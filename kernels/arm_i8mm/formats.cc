#include "kernels/arm_i8mm/formats.h"

#include <arm_neon.h>

#include "kernels/arm_neon/format_table.h"

namespace inferd::kernels::i8mm {
namespace {

using panels::kPanelRows;

// Brings two columns together, in their place.
void PairColumns(uint8_t (&columns)[2][kPanelRows][4]) {
  uint8_t* bytes = columns[0][0];
  uint32x4_t rows[2][4];
  for (int c = 0; c < 2; ++c) {
    for (int q = 0; q < 4; ++q) rows[c][q] = vreinterpretq_u32_u8(vld1q_u8(columns[c][4 * q]));
  }
  for (int q = 0; q < 4; ++q) {
    vst1q_u8(bytes + 32 * q, vreinterpretq_u8_u32(vzip1q_u32(rows[0][q], rows[1][q])));
    vst1q_u8(bytes + 32 * q + 16, vreinterpretq_u8_u32(vzip2q_u32(rows[0][q], rows[1][q])));
  }
}

template <auto kUnpack, typename PanelBlock>
void UnpackPaired(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  kUnpack(rows, stride, blocks, next, panel);
  auto* block = static_cast<PanelBlock*>(panel);
  for (int64_t b = 0; b < blocks; ++b) {
    using Pair = uint8_t[2][kPanelRows][4];
    auto* pairs = reinterpret_cast<Pair*>(block[b].values);
    for (size_t i = 0; i < sizeof(block[b].values) / sizeof(Pair); ++i) PairColumns(pairs[i]);
  }
}

struct Variant {
  template <auto kUnpack, TileKind kKind>
  static constexpr PanelFormat Format() {
    if constexpr (neon::IsSuper(kKind)) {
      return {UnpackPaired<kUnpack, panels::PanelBlock256>, TileOf<kKind>};
    } else {
      return {UnpackPaired<kUnpack, panels::PanelBlock32>, TileOf<kKind>};
    }
  }
};

}  // namespace

const PanelFormat& FormatOf(TensorType type) { return neon::FindFormat<Variant>(type); }

}  // namespace inferd::kernels::i8mm
