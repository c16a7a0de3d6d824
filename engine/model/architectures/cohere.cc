// Command R and Command R7B (cohere2): LayerNorm without bias, branches side by side, scaled logits. In cohere2 three
// of four layers have a window, and only those have RoPE;
// cohere2moe adds experts.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonCohere(Metadata& m, NormKind norm = NormKind::kLayer) {
  DecoderSpec spec = CommonDecoder(m, norm);
  spec.parallel = true;
  spec.norm_places.before_feed_forward = "";
  spec.logit_scale = FactorOr(m, "logit_scale", 1);
  AddRope(m, spec, RopePairing::kNeighbours);
  return spec;
}

}  // namespace

DecoderSpec DescribeCommandR(Metadata& m) {
  DecoderSpec spec = CommonCohere(m);
  const bool norms = HasTensor(m, "blk.0.attn_q_norm.weight");  // Command R+
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.qk_norm = norms ? QkNorm::kPerHead : QkNorm::kNone;
    layer.attention.qk_norm_kind = NormKind::kLayer;
  });
  return spec;
}

DecoderSpec DescribeCohere2(Metadata& m) {
  DecoderSpec spec = CommonCohere(m);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4);
  ForEachLayer(spec, [](LayerSpec& layer) {
    if (layer.attention.window == 0) layer.attention.rope = -1;
  });
  return spec;
}

// Experts after some dense layers, halved where a shared one runs beside them. The dense layers have RoPE too.
DecoderSpec DescribeCohere2Moe(Metadata& m) {
  DecoderSpec spec = CommonCohere(m, m.Has("attention.layer_norm_rms_epsilon") ? NormKind::kRms : NormKind::kLayer);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4, FullLayer::kFirstOfPeriod);
  const int64_t dense = m.CountOr("leading_dense_block_count", 0);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& a = spec.layers[i].attention;
    if (a.window == 0 && static_cast<int64_t>(i) >= dense) a.rope = -1;
  }
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    if (experts.shared_width == 0) return;
    if (shared > 0) experts.shared_width = shared;
    experts.sum_scale = 0.5f;
  });
  return spec;
}

}  // namespace inferd::model
