// EXAONE 3 (LLaMA with halves paired) and EXAONE 4: norms after each branch and over queries and keys; in its 32B model
// (64 layers) three of four layers have a window, and only those have RoPE. arXiv 2507.11407.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeExaone(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

DecoderSpec DescribeExaone4(Metadata& m) {
  DecoderSpec spec = DescribeExaone(m);
  spec.norm_places = {.before_mixer = "",
                      .after_mixer = "post_attention_norm",
                      .before_feed_forward = "",
                      .after_feed_forward = "post_ffw_norm"};
  const bool windows = spec.layers.size() == 64;
  if (windows) AddWindows(m, spec, m.CountOr("attention.sliding_window", 4096), 4);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    if (windows && layer.attention.window == 0) layer.attention.rope = -1;
  });
  return spec;
}

}  // namespace inferd::model
