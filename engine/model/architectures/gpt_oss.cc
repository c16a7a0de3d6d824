// gpt-oss: experts with a bounded gate, attention sinks, every other layer with a window. arXiv 2508.10925.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeGptOss(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.before_feed_forward = "post_attention_norm";
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 2);
  AddExperts(m, spec);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.sinks = true;
    layer.feed_forward.activation = Activation::kGeluQuick;
    layer.feed_forward.clamp = 7.0f;
    layer.feed_forward.experts.gating = Gating::kSoftmaxOfChosen;
    layer.feed_forward.experts.normalize = false;
  });
  return spec;
}

}  // namespace inferd::model
