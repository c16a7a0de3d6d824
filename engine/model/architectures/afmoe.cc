// Arcee's mixture of experts (Trinity): norms around both branches, a gate on attention's output, RoPE in three of four
// layers only, some dense layers first and then routed experts beside shared ones. https://arcee.ai (AFM).
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeAfmoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.embedding_scale = std::sqrt(static_cast<float>(spec.width));
  spec.norm_places.after_mixer = "post_attention_norm";
  spec.norm_places.after_feed_forward = "post_ffw_norm";
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 4);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/true);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& a = spec.layers[i].attention;
    a.qk_norm = QkNorm::kShared;
    a.gate_tensor = GateTensor::kElements;
    if (i % 4 == 3) a.rope = -1;
  }
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  return spec;
}

}  // namespace inferd::model
