// OLMo: LayerNorm without weights; OLMo 2 and 3: norms after each branch and over whole queries and keys; OLMoE.
// arXiv 2402.00838, 2501.00656, 2409.02060.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeOlmo(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.norm_weights_required = false;
  AddRope(m, spec, RopePairing::kNeighbours);
  const auto clamp = static_cast<float>(m.RealOr("attention.clamp_kqv", 0));
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.clamp_qkv = clamp; });
  return spec;
}

DecoderSpec DescribeOlmo2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places = {.before_mixer = "",
                      .after_mixer = "post_attention_norm",
                      .before_feed_forward = "",
                      .after_feed_forward = "post_ffw_norm"};
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 4);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/false);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kWhole; });
  return spec;
}

DecoderSpec DescribeOlmoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kWhole;
    layer.feed_forward.experts.normalize = false;
  });
  return spec;
}

}  // namespace inferd::model
