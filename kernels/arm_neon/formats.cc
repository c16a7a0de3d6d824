// Which panel format each type has.
#include "kernels/arm_neon/formats.h"

#include "kernels/panels/unpack_any.h"

namespace inferd::kernels::neon {
namespace {

using enum TensorType;
using enum TileKind;

constexpr panels::PanelStyle kStyle{.bias = 0, .paired_scales = false};
template <TensorType kType>
constexpr auto* Any = panels::UnpackAny<kStyle, kType>;

struct Entry {
  TensorType type;
  PanelFormat format;
};

constexpr Entry kEntries[] = {
    {kQ4_0, {UnpackQ4_0, TileOf<kScale32>}},       {kQ4_1, {UnpackQ4_1, TileOf<kScale32Added>}},
    {kQ5_0, {UnpackQ5_0, TileOf<kScale32>}},       {kQ5_1, {UnpackQ5_1, TileOf<kScale32Added>}},
    {kQ8_0, {UnpackQ8_0, TileOf<kScale32>}},       {kIQ4_NL, {UnpackIQ4_NL, TileOf<kScale32>}},
    {kMXFP4, {Any<kMXFP4>, TileOf<kScale32>}},     {kNVFP4, {Any<kNVFP4>, TileOf<kScale16>}},
    {kQ2_K, {Any<kQ2_K>, TileOf<kMinimum16>}},     {kQ3_K, {Any<kQ3_K>, TileOf<kSuper16>}},
    {kQ4_K, {UnpackQ4_K, TileOf<kMinimum32>}},     {kQ5_K, {UnpackQ5_K, TileOf<kMinimum32>}},
    {kQ6_K, {UnpackQ6_K, TileOf<kSuper16>}},       {kIQ4_XS, {Any<kIQ4_XS>, TileOf<kSuper16>}},
    {kIQ1_S, {Any<kIQ1_S>, TileOf<kSuper16>}},     {kIQ1_M, {Any<kIQ1_M>, TileOf<kSuper16>}},
    {kIQ2_XXS, {Any<kIQ2_XXS>, TileOf<kSuper16>}}, {kIQ2_XS, {Any<kIQ2_XS>, TileOf<kSuper16>}},
    {kIQ2_S, {Any<kIQ2_S>, TileOf<kSuper16>}},     {kIQ3_XXS, {Any<kIQ3_XXS>, TileOf<kSuper16>}},
    {kIQ3_S, {Any<kIQ3_S>, TileOf<kSuper16>}},     {kTQ1_0, {Any<kTQ1_0>, TileOf<kSuper16>}},
    {kTQ2_0, {Any<kTQ2_0>, TileOf<kSuper16>}},
};
static_assert(sizeof(kEntries) / sizeof(Entry) == kQuantizedTypes);

}  // namespace

const PanelFormat& FormatOf(TensorType type) {
  for (const Entry& entry : kEntries) {
    if (entry.type == type) return entry.format;
  }
  return kEntries[0].format;
}

}  // namespace inferd::kernels::neon
