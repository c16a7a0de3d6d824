// Command R and Command R7B (cohere2): LayerNorm without bias, branches side by side, scaled logits. In cohere2 three
// of four layers have a window, and only those have RoPE.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonCohere(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
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

}  // namespace inferd::model
