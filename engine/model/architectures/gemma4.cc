// Gemma 3n and 4: the blocks of Gemma 3 with an input of each layer from an embedding of its own, and last layers that
// use the keys and values of earlier ones. Gemma 3n keeps four residual streams (AltUp) and a branch of low rank beside
// attention (LAuReL), and its first layers are sparse. Gemma 4's layers with and without a window differ in their
// heads, and some sizes have experts beside the dense network. https://ai.google.dev/gemma/docs
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

// Norms around both branches, GELU, unscaled scores, normed heads.
DecoderSpec CommonGemma4(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.embedding_scale = std::sqrt(static_cast<float>(spec.width));
  spec.norm_places.after_mixer = "post_attention_norm";
  spec.norm_places.after_feed_forward = "post_ffw_norm";
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.feed_forward.activation = Activation::kGeluHalf;
    layer.attention.scale = 1;
    layer.attention.qk_norm = QkNorm::kShared;
    layer.attention.norm_values = true;
  });
  return spec;
}

// Layers from `own` on read the cache of the last one before it with the same window.
void ShareKv(Metadata& m, DecoderSpec& spec, int64_t own) {
  if (own >= static_cast<int64_t>(spec.layers.size())) return;
  if (own < 2) return m.Fail(Inconsistent(m, "attention.shared_kv_layers", "block_count"));
  for (size_t i = static_cast<size_t>(own); i < spec.layers.size(); ++i) {
    const int64_t of = own - (spec.layers[i].attention.window > 0 ? 2 : 1);
    const AttentionSpec &from = spec.layers[of].attention, &to = spec.layers[i].attention;
    if (from.window != to.window || from.kv_heads != to.kv_heads || from.k_dim != to.k_dim) {
      return m.Fail(Inconsistent(m, "attention.shared_kv_layers", "attention.sliding_window_pattern"));
    }
    spec.layers[i].attention.kv_of = static_cast<int32_t>(of);
  }
}

}  // namespace

DecoderSpec DescribeGemma3n(Metadata& m) {
  constexpr int64_t kOwnKv = 20, kSparseLayers = 10;  // as in all models of the family,
  constexpr float kSparsity = 1.6448533535003662f;    // of whose inner rows 95 % are zero
  DecoderSpec spec = CommonGemma4(m);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 5);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  ShareKv(m, spec, kOwnKv);
  spec.layer_input_width = 256;
  spec.altup = {.streams = 4, .rank = 64};
  spec.logit_soft_cap = static_cast<float>(m.RealOr("final_logit_softcapping", 30.0));
  for (size_t i = 0; i < spec.layers.size() && i < kSparseLayers; ++i) spec.layers[i].feed_forward.sparsity = kSparsity;
  return spec;
}

DecoderSpec DescribeGemma4(Metadata& m) {
  DecoderSpec spec = CommonGemma4(m);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 6);
  AddRope(m, spec, RopePairing::kHalves);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  spec.layer_input_width = m.CountOr("embedding_length_per_layer_input", 0, 1 << 16);
  spec.logit_soft_cap = static_cast<float>(m.RealOr("final_logit_softcapping", 30.0));
  const int64_t k_dim = m.Count("attention.key_length_swa", 1 << 16),
                v_dim = m.Count("attention.value_length_swa", 1 << 16);
  spec.ropes.back().rotated = m.CountOr("rope.dimension_count_swa", k_dim);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.values_from_keys = true;
    if (layer.attention.window == 0) return;
    layer.attention.k_dim = k_dim;
    layer.attention.v_dim = v_dim;
  });
  const auto layers = static_cast<int64_t>(spec.layers.size());
  ShareKv(m, spec, layers - m.CountOr("attention.shared_kv_layers", 0, layers));
  if (!HasTensor(m, "blk.0.ffn_gate_inp.weight")) return spec;
  AddExperts(m, spec);
  spec.norm_places.before_experts = "pre_ffw_norm_2";
  spec.norm_places.after_shared = "post_ffw_norm_1";
  spec.norm_places.after_experts = "post_ffw_norm_2";
  ForEachLayer(spec, [](LayerSpec& layer) {
    ExpertSpec& experts = layer.feed_forward.experts;
    experts.input = ExpertInput::kOwnNorm;
    experts.router_input = RouterInput::kScaledNorm;
    experts.shared_width = layer.feed_forward.width;
    experts.shared_is_dense = true;
  });
  return spec;
}

}  // namespace inferd::model
