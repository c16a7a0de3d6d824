// Which panel format each type has, for the variants that share these unpackers:
//
//   struct Variant {
//     template <auto kUnpack, TileKind kKind> static constexpr PanelFormat Format();
//   };
//   const PanelFormat& format = FindFormat<Variant>(TensorType::kQ4_0);
#pragma once

#include "kernels/arm_neon/formats.h"
#include "kernels/panels/unpack_any.h"

namespace inferd::kernels::neon {

constexpr panels::PanelStyle kStyle{.bias = 0, .paired_scales = false};
template <TensorType kType>
constexpr auto* Any = panels::UnpackAny<kStyle, kType>;

struct FormatEntry {
  TensorType type;
  PanelFormat format;
};

template <class Variant>
const PanelFormat& FindFormat(TensorType type) {
  using enum TensorType;
  using enum TileKind;
  static constexpr FormatEntry kEntries[] = {
      {kQ4_0, Variant::template Format<UnpackQ4_0, kScale32>()},
      {kQ4_1, Variant::template Format<UnpackQ4_1, kScale32Added>()},
      {kQ5_0, Variant::template Format<UnpackQ5_0, kScale32>()},
      {kQ5_1, Variant::template Format<UnpackQ5_1, kScale32Added>()},
      {kQ8_0, Variant::template Format<UnpackQ8_0, kScale32>()},
      {kIQ4_NL, Variant::template Format<UnpackIQ4_NL, kScale32>()},
      {kMXFP4, Variant::template Format<Any<kMXFP4>, kScale32>()},
      {kNVFP4, Variant::template Format<Any<kNVFP4>, kScale16>()},
      {kQ2_K, Variant::template Format<Any<kQ2_K>, kMinimum16>()},
      {kQ3_K, Variant::template Format<Any<kQ3_K>, kSuper16>()},
      {kQ4_K, Variant::template Format<UnpackQ4_K, kMinimum32>()},
      {kQ5_K, Variant::template Format<UnpackQ5_K, kMinimum32>()},
      {kQ6_K, Variant::template Format<UnpackQ6_K, kSuper16>()},
      {kIQ4_XS, Variant::template Format<Any<kIQ4_XS>, kSuper16>()},
      {kIQ1_S, Variant::template Format<Any<kIQ1_S>, kSuper16>()},
      {kIQ1_M, Variant::template Format<Any<kIQ1_M>, kSuper16>()},
      {kIQ2_XXS, Variant::template Format<Any<kIQ2_XXS>, kSuper16>()},
      {kIQ2_XS, Variant::template Format<Any<kIQ2_XS>, kSuper16>()},
      {kIQ2_S, Variant::template Format<Any<kIQ2_S>, kSuper16>()},
      {kIQ3_XXS, Variant::template Format<Any<kIQ3_XXS>, kSuper16>()},
      {kIQ3_S, Variant::template Format<Any<kIQ3_S>, kSuper16>()},
      {kTQ1_0, Variant::template Format<Any<kTQ1_0>, kSuper16>()},
      {kTQ2_0, Variant::template Format<Any<kTQ2_0>, kSuper16>()},
  };
  static_assert(sizeof(kEntries) / sizeof(FormatEntry) == kQuantizedTypes);
  for (const FormatEntry& entry : kEntries) {
    if (entry.type == type) return entry.format;
  }
  return kEntries[0].format;
}

}  // namespace inferd::kernels::neon
