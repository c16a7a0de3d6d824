// PLaMo: attention and feed-forward side by side, from one norm. PLaMo 3: norms before and after each branch and of
// queries and keys, windows in seven of eight layers.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribePlamo(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.parallel = true;
  spec.norm_places.before_feed_forward = "";
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

DecoderSpec DescribePlamo3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.after_mixer = "post_attention_norm";
  spec.norm_places.after_feed_forward = "post_ffw_norm";
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 8);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/true);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    layer.feed_forward.fused_gate_up = true;
  });
  return spec;
}

}  // namespace inferd::model
