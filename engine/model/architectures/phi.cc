// Phi 2 (LayerNorm, attention and feed-forward side by side), Phi 3 and 4. arXiv 2404.14219, 2402.13753 (LongRoPE).
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

}  // namespace inferd::model
