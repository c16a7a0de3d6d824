// Phi 2 (LayerNorm, attention and feed-forward side by side), Phi 3 and 4, Phi 3.5 MoE. arXiv 2404.14219, 2402.13753
// (LongRoPE).
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribePhi2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  spec.parallel = true;
  spec.norm_places.before_feed_forward = "";
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

// Files declare a sliding window longer than the texts that the short models were made for; it is not applied, as in
// the implementation that everybody compares with.
DecoderSpec DescribePhi3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.fused_gate_up = true; });
  return spec;
}

// Phi 3.5 MoE. Its norms are computed as root mean squares with a bias, as the reference implementation of GGUF models
// has them.
DecoderSpec DescribePhiMoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm.kind = NormKind::kBiasedRms;
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.feed_forward.experts.width = layer.feed_forward.width;
    layer.feed_forward.experts.weight_scale = scale;
  });
  return spec;
}

}  // namespace inferd::model
