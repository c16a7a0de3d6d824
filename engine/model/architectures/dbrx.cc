// DBRX: LayerNorm without bias, clamped q, k and v, and experts in every layer.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeDbrx(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.norm_places.before_feed_forward = "attn_output_norm";
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  const auto clamp = static_cast<float>(m.Real("attention.clamp_kqv"));
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.clamp_qkv = clamp; });
  return spec;
}

}  // namespace inferd::model
