// Grok 1 and 2: norms around both branches, soft-capped scores, experts with GELU; Grok 2 halves the power of a sum of
// the experts and a dense network. https://github.com/xai-org/grok-1
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeGrok(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.embedding_scale = static_cast<float>(m.RealOr("embedding_scale", 78.38367176906169));
  spec.logit_scale = static_cast<float>(m.RealOr("logit_scale", 0.5773502691896257));
  spec.logit_soft_cap = static_cast<float>(m.RealOr("final_logit_softcapping", 0));
  spec.norm_places.after_mixer = "attn_output_norm";
  spec.norm_places.after_feed_forward =
      HasTensor(m, "blk.0.layer_output_norm.weight") ? "layer_output_norm" : "post_ffw_norm";
  AddRope(m, spec, RopePairing::kHalves);
  spec.ropes.front().yarn_beta_fast = m.RealOr("rope.scaling.yarn_beta_fast", 8.0);
  const auto scale = static_cast<float>(m.RealOr("attention.output_scale", 0.08838834764831845));
  const auto cap = static_cast<float>(m.RealOr("attn_logit_softcapping", 30.0));
  AddExperts(m, spec);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.scale = scale;
    layer.attention.soft_cap = cap;
    layer.feed_forward.activation = Activation::kGeluHalf;
    ExpertSpec& experts = layer.feed_forward.experts;
    if (!HasTensor(m, "blk.0.ffn_up.weight")) return;
    experts.shared_width = layer.feed_forward.width;
    experts.shared_is_dense = true;
    experts.sum_scale = std::sqrt(0.5f);
  });
  if (spec.layers.front().feed_forward.experts.count == 0) m.Fail(NeedsExperts(m));
  return spec;
}

}  // namespace inferd::model
