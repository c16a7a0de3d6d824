// Families in the manner of DeepSeek (arXiv 2401.06066): some dense layers first, then routed experts beside shared
// ones. dots.llm1 (arXiv 2506.05767), GLM-4.5 (arXiv 2508.06471), Ling 1 and 2 (bailingmoe, arXiv 2503.05139),
// K-EXAONE, Hunyuan-A13B and Hy3.
#include <string>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

// Ling 2 and K-EXAONE may give the shared expert a width of its own.
void WidenSharedExperts(Metadata& m, DecoderSpec& spec, int64_t count) {
  const int64_t width = m.CountOr("expert_shared_feed_forward_length", 0);
  if (width > 0) ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.shared_width = width * count; });
}

}  // namespace

DecoderSpec DescribeDots1(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSoftmax));
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  return spec;
}

DecoderSpec DescribeGlm4Moe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.before_feed_forward = "post_attention_norm";
  AddRope(m, spec, RopePairing::kHalves);
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  const bool norms = HasTensor(m, "blk.0.attn_q_norm.weight");  // GLM-4.5 has them, GLM-4.5-Air has not
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.qk_norm = norms ? QkNorm::kShared : QkNorm::kNone; });
  return spec;
}

// The text part of DeepSeek OCR: DeepSeek 2 without its latent vector.
DecoderSpec DescribeDeepseek2Ocr(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSoftmax));
  return spec;
}

DecoderSpec DescribeBailingMoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  AddSharedExperts(m, spec, Gating::kSoftmax);
  return spec;
}

DecoderSpec DescribeBailingMoe2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  WidenSharedExperts(m, spec, m.CountOr("expert_shared_count", 1, kernels::kMaximumExperts));
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  return spec;
}

// Three of four layers have a window, and only those have RoPE.
DecoderSpec DescribeExaoneMoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4);
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  WidenSharedExperts(m, spec, 1);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    if (layer.attention.window == 0) layer.attention.rope = -1;
  });
  return spec;
}

// Every layer has experts, and the shared one has a width of its own.
DecoderSpec DescribeHunyuanMoe(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.shared_width = shared; });
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    layer.attention.qk_norm_after_rope = true;
  });
  return spec;
}

// Which layers are dense shows in their tensors alone.
DecoderSpec DescribeHy3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  const DecoderSpec dense = spec;
  AddExperts(m, spec);
  const Gating gating = ReadGating(m, Gating::kSigmoid);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  const bool normalize = m.FlagOr("expert_weights_norm", false);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    FeedForwardSpec& f = spec.layers[i].feed_forward;
    const std::string block = "blk." + std::to_string(i);
    if (!HasTensor(m, block + ".ffn_gate_inp.weight")) f = dense.layers[i].feed_forward;
    if (!HasTensor(m, block + ".ffn_up_shexp.weight")) continue;
    f.experts.shared_width = shared > 0 ? shared : f.experts.width;
  }
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = gating;
    experts.normalize = normalize;
    experts.weight_scale = scale;
  });
  return spec;
}

}  // namespace inferd::model
