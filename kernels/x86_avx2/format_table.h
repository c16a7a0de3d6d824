// Which panel format each type has, but for PanelFormat::direct, for the variants that share these panels. `Tiles` has
// their micro-kernels:
//
//   struct Tiles {
//     template <int kBits, Extra32 kExtra> static TileFunction Tile32(int panels, int tokens);
//     template <int kBits, int kGroup, Extra256 kExtra> static TileFunction Tile256(int panels, int tokens);
//   };
#pragma once

#include "kernels/panels/unpack_any.h"
#include "kernels/x86_avx2/blocks_k.h"
#include "kernels/x86_avx2/blocks_legacy.h"
#include "kernels/x86_avx2/formats.h"

namespace inferd::kernels::avx2 {

constexpr panels::PanelStyle kStyle{.bias = 0, .paired_scales = true};
template <TensorType kType>
void Any(const uint8_t* rows, size_t stride, int64_t blocks, const uint8_t* next, void* panel) {
  panels::UnpackAny<kStyle, kType>(rows, stride, blocks, next, panel);
}

struct FormatEntry {
  TensorType type;
  PanelFormat format;
};

template <class Tiles>
const PanelFormat& FindFormat(TensorType type) {
  using enum TensorType;
  static constexpr FormatEntry kEntries[] = {
      {kQ4_0, {UnpackQ4_0, Tiles::template Tile32<kLayoutQ4_0.bits, kLayoutQ4_0.extra>}},
      {kQ4_1, {UnpackQ4_1, Tiles::template Tile32<kLayoutQ4_1.bits, kLayoutQ4_1.extra>}},
      {kQ5_0, {UnpackQ5_0, Tiles::template Tile32<kLayoutQ5_0.bits, kLayoutQ5_0.extra>}},
      {kQ5_1, {UnpackQ5_1, Tiles::template Tile32<kLayoutQ5_1.bits, kLayoutQ5_1.extra>}},
      {kQ8_0, {UnpackQ8_0, Tiles::template Tile32<kLayoutQ8_0.bits, kLayoutQ8_0.extra>}},
      {kIQ4_NL, {UnpackIQ4_NL, Tiles::template Tile32<kLayoutIQ4_NL.bits, kLayoutIQ4_NL.extra>}},
      {kMXFP4, {Any<kMXFP4>, Tiles::template Tile32<8, Extra32::kNone>}},
      {kNVFP4, {Any<kNVFP4>, Tiles::template Tile32<8, Extra32::kTwoScales>}},
      {kQ2_K, {Any<kQ2_K>, Tiles::template Tile256<4, 16, Extra256::kMinimum>}},
      {kQ3_K, {Any<kQ3_K>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kQ4_K, {UnpackQ4_K, Tiles::template Tile256<Q4_K::kBits, Q4_K::kGroup, Q4_K::kExtra>}},
      {kQ5_K, {UnpackQ5_K, Tiles::template Tile256<Q5_K::kBits, Q5_K::kGroup, Q5_K::kExtra>}},
      {kQ6_K, {UnpackQ6_K, Tiles::template Tile256<Q6_K::kBits, Q6_K::kGroup, Q6_K::kExtra>}},
      {kIQ4_XS, {Any<kIQ4_XS>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ1_S, {Any<kIQ1_S>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ1_M, {Any<kIQ1_M>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ2_XXS, {Any<kIQ2_XXS>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ2_XS, {Any<kIQ2_XS>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ2_S, {Any<kIQ2_S>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ3_XXS, {Any<kIQ3_XXS>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kIQ3_S, {Any<kIQ3_S>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kTQ1_0, {Any<kTQ1_0>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
      {kTQ2_0, {Any<kTQ2_0>, Tiles::template Tile256<8, 16, Extra256::kNone>}},
  };
  static_assert(sizeof(kEntries) / sizeof(FormatEntry) == kQuantizedTypes);
  for (const FormatEntry& entry : kEntries) {
    if (entry.type == type) return entry.format;
  }
  return kEntries[0].format;
}

}  // namespace inferd::kernels::avx2
