// Which panel format each type has.
#include "kernels/x86_avx512/formats.h"

namespace inferd::kernels::avx512 {
namespace {

using enum TensorType;
using enum TileKind;

struct Entry {
  TensorType type;
  PanelFormat format;
};

constexpr Entry kEntries[] = {
    {kQ4_0, {kSigned32, UnpackQ4_0}},
    {kQ4_1, {kUnsigned32Added, UnpackQ4_1}},
    {kQ5_0, {kSigned32, UnpackQ5_0}},
    {kQ5_1, {kUnsigned32Added, UnpackQ5_1}},
    {kQ8_0, {kSigned32, UnpackQ8_0}},
    {kIQ4_NL, {kSigned32, UnpackIQ4_NL}},
    {kMXFP4, {kSigned32, UnpackAny<kMXFP4>}},
    {kNVFP4, {kSigned16, UnpackAny<kNVFP4>}},
    {kQ2_K, {kSuperMinimum16, UnpackAny<kQ2_K>}},
    {kQ3_K, {kSuperSigned16, UnpackAny<kQ3_K>}},
    {kQ4_K, {kSuperMinimum32, UnpackQ4_K}},
    {kQ5_K, {kSuperMinimum32, UnpackQ5_K}},
    {kQ6_K, {kSuperSigned16, UnpackQ6_K}},
    {kIQ4_XS, {kSuperSigned16, UnpackAny<kIQ4_XS>}},
    {kIQ1_S, {kSuperSigned16, UnpackAny<kIQ1_S>}},
    {kIQ1_M, {kSuperSigned16, UnpackAny<kIQ1_M>}},
    {kIQ2_XXS, {kSuperSigned16, UnpackAny<kIQ2_XXS>}},
    {kIQ2_XS, {kSuperSigned16, UnpackAny<kIQ2_XS>}},
    {kIQ2_S, {kSuperSigned16, UnpackAny<kIQ2_S>}},
    {kIQ3_XXS, {kSuperSigned16, UnpackAny<kIQ3_XXS>}},
    {kIQ3_S, {kSuperSigned16, UnpackAny<kIQ3_S>}},
    {kTQ1_0, {kSuperSigned16, UnpackAny<kTQ1_0>}},
    {kTQ2_0, {kSuperSigned16, UnpackAny<kTQ2_0>}},
};

}  // namespace

const PanelFormat& FormatOf(TensorType type) {
  for (const Entry& entry : kEntries) {
    if (entry.type == type) return entry.format;
  }
  return kEntries[0].format;
}

}  // namespace inferd::kernels::avx512
