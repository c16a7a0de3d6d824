// SmallThinker: experts with ReLU gates, chosen by what a layer gets, before its attention; every fourth layer sees
// everything and has no RoPE. arXiv 2507.20984.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeSmallthinker(Metadata& m) {
  constexpr int64_t kWindow = 4096;  // of all models; files of some say otherwise, and the reference reads this
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  const Gating gating = ReadGating(m, Gating::kSigmoid);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = gating;
    experts.weight_scale = scale;
    experts.router_input = RouterInput::kBeforeMixer;
  });
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.activation = Activation::kRelu; });
  if (m.CountOr("attention.sliding_window", 0) == 0) return spec;
  AddWindows(m, spec, kWindow, 4, FullLayer::kFirstOfPeriod);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/true);
  for (size_t i = 0; i < spec.layers.size(); i += 4) spec.layers[i].attention.rope = -1;
  return spec;
}

}  // namespace inferd::model
