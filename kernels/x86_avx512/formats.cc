// Which panel format each type has.
#include "kernels/x86_avx512/formats.h"

#include "kernels/panels/unpack_any.h"

namespace inferd::kernels::avx512 {
namespace {

using enum TensorType;
using enum TileKind;

constexpr panels::PanelStyle kStyle{.bias = 128, .paired_scales = false};
template <TensorType kType>
constexpr auto* Any = panels::UnpackAny<kStyle, kType>;

struct Entry {
  TensorType type;
  PanelFormat format;
};

constexpr Entry kEntries[] = {
    {kQ4_0, {UnpackQ4_0, TileOf<kSigned32>, DirectQ4_0}},
    {kQ4_1, {UnpackQ4_1, TileOf<kUnsigned32Added>, DirectQ4_1}},
    {kQ5_0, {UnpackQ5_0, TileOf<kSigned32>, DirectQ5_0}},
    {kQ5_1, {UnpackQ5_1, TileOf<kUnsigned32Added>, DirectQ5_1}},
    {kQ8_0, {UnpackQ8_0, TileOf<kSigned32>, DirectQ8_0}},
    {kIQ4_NL, {UnpackIQ4_NL, TileOf<kSigned32>, DirectIQ4_NL}},
    {kMXFP4, {UnpackMXFP4, TileOf<kSigned32>, DirectMXFP4}},
    {kNVFP4, {Any<kNVFP4>, TileOf<kSigned16>}},
    {kQ2_K, {UnpackQ2_K, TileOf<kSuperMinimum16>, DirectQ2_K}},
    {kQ3_K, {UnpackQ3_K, TileOf<kSuperNarrow16>, DirectQ3_K}},
    {kQ4_K, {UnpackQ4_K, TileOf<kSuperMinimum4Bits32>, DirectQ4_K}},
    {kQ5_K, {UnpackQ5_K, TileOf<kSuperMinimum5Bits32>, DirectQ5_K}},
    {kQ6_K, {UnpackQ6_K, TileOf<kSuperSigned6Bits16>, DirectQ6_K}},
    {kIQ4_XS, {UnpackIQ4_XS, TileOf<kSuperSigned16>, DirectIQ4_XS}},
    {kIQ1_S, {Any<kIQ1_S>, TileOf<kSuperNarrow16>}},
    {kIQ1_M, {Any<kIQ1_M>, TileOf<kSuperNarrow16>}},
    {kIQ2_XXS, {Any<kIQ2_XXS>, TileOf<kSuperSigned16>}},
    {kIQ2_XS, {Any<kIQ2_XS>, TileOf<kSuperSigned16>}},
    {kIQ2_S, {Any<kIQ2_S>, TileOf<kSuperSigned16>}},
    {kIQ3_XXS, {Any<kIQ3_XXS>, TileOf<kSuperSigned16>}},
    {kIQ3_S, {Any<kIQ3_S>, TileOf<kSuperSigned16>}},
    {kTQ1_0, {Any<kTQ1_0>, TileOf<kSuperNarrow16>}},
    {kTQ2_0, {Any<kTQ2_0>, TileOf<kSuperNarrow16>}},
};
static_assert(sizeof(kEntries) / sizeof(Entry) == kQuantizedTypes);

}  // namespace

const PanelFormat& FormatOf(TensorType type) {
  for (const Entry& entry : kEntries) {
    if (entry.type == type) return entry.format;
  }
  return kEntries[0].format;
}

}  // namespace inferd::kernels::avx512
