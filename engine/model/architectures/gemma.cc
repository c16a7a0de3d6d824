// Gemma 1, 2 and 3. arXiv 2403.08295, 2408.00118, 2503.19786. Files hold norm weights with the 1 already added.
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonGemma(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.embedding_scale = std::sqrt(static_cast<float>(spec.width));
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.activation = Activation::kGeluHalf; });
  return spec;
}

void AddPostNorms(DecoderSpec& spec) {
  spec.norm_places.after_mixer = "post_attention_norm";
  spec.norm_places.after_feed_forward = "post_ffw_norm";
}

// The 27B models scale queries by the width of a head as it would be without a head dimension of its own.
void ScaleByWidth(DecoderSpec& spec, size_t layers_of_27b) {
  if (spec.layers.size() != layers_of_27b) return;
  ForEachLayer(spec, [&](LayerSpec& layer) {
    if (layer.attention.heads == 0) return;
    layer.attention.scale = 1.0f / std::sqrt(static_cast<float>(spec.width / layer.attention.heads));
  });
}

}  // namespace

DecoderSpec DescribeGemma(Metadata& m) {
  DecoderSpec spec = CommonGemma(m);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

DecoderSpec DescribeGemma2(Metadata& m) {
  DecoderSpec spec = CommonGemma(m);
  AddPostNorms(spec);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 4096), 2);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/true);
  ScaleByWidth(spec, 46);
  const auto cap = static_cast<float>(m.RealOr("attn_logit_softcapping", 50.0));
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.soft_cap = cap; });
  spec.logit_soft_cap = static_cast<float>(m.RealOr("final_logit_softcapping", 30.0));
  return spec;
}

// Five layers with a window and an unscaled RoPE of base 10000, then one that sees everything.
DecoderSpec DescribeGemma3(Metadata& m) {
  DecoderSpec spec = CommonGemma(m);
  AddPostNorms(spec);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 6);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  ScaleByWidth(spec, 62);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  spec.logit_soft_cap = static_cast<float>(m.RealOr("final_logit_softcapping", 0));
  return spec;
}

// EmbeddingGemma: the same blocks, seeing both ways.
DecoderSpec DescribeGemmaEmbedding(Metadata& m) {
  DecoderSpec spec = DescribeGemma3(m);
  spec.encoder = true;
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.window_shape = WindowShape::kCentred; });
  return spec;
}

}  // namespace inferd::model
