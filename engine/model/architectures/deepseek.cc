// DeepSeek (MoE) and DeepSeek 2 and 3, whose attention goes through a small latent vector. arXiv 2401.06066,
// 2405.04434, 2412.19437. The first layers are dense, the others have routed and shared experts. MiniCPM 3 and PLM have
// the latent vector with dense layers. Mistral 4: DeepSeek 2 with queries that grow with their position.
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

void AddDeepseekExperts(Metadata& m, DecoderSpec& spec, Gating gating, bool normalize) {
  AddExperts(m, spec, m.CountOr("leading_dense_block_count", 0));
  const int64_t shared = m.CountOr("expert_shared_count", 0, kernels::kMaximumExperts);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = gating;
    experts.normalize = normalize;
    experts.weight_scale = scale;
    experts.shared_width = experts.width * shared;
  });
}

// Scores grow with the context's extension (YaRN, section 3.4), by a factor that files give as 0.1 * mscale_all_dim.
float LatentScale(const RopeSpec& rope, double log_multiplier, int64_t query) {
  const double extension = rope.scaling == RopeScaling::kYarn && rope.factor > 1 ? std::log(rope.factor) : 0.0;
  const double magnitude = rope.attention_factor * (1.0 + log_multiplier * extension);
  return static_cast<float>(magnitude * magnitude / std::sqrt(static_cast<double>(query)));
}

// Keys and values of all heads are decompressed by one matrix, kv_b, and cached as they are.
void UseDecompressedLatent(Metadata& m, DecoderSpec& spec, int64_t q_rank) {
  const int64_t rotated = spec.ropes.front().rotated, kv_rank = m.Count("attention.kv_lora_rank", 1 << 20);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    AttentionSpec& a = layer.attention;
    if (a.k_dim <= rotated) m.Fail(Inconsistent(m, "attention.key_length", "rope.dimension_count"));
    a.latent = {.q_rank = q_rank,
                .kv_rank = kv_rank,
                .nope_dim = a.k_dim - rotated,
                .rope_dim = rotated,
                .v_dim = a.v_dim,
                .absorbed = false};
    a.kv_heads = a.heads;
  });
}

}  // namespace

DecoderSpec DescribeMinicpm3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  UseDecompressedLatent(m, spec, m.Count("attention.q_lora_rank", 1 << 20));
  spec.embedding_scale = 12;
  spec.residual_scale = 1.4f / std::sqrt(static_cast<float>(spec.layers.size()));
  spec.logit_scale = 256.0f / static_cast<float>(spec.width);
  return spec;
}

DecoderSpec DescribePlm(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  UseDecompressedLatent(m, spec, 0);
  UsePlainFeedForward(spec, Activation::kReluSquared);
  return spec;
}

DecoderSpec DescribeDeepseek(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  AddDeepseekExperts(m, spec, Gating::kSoftmax, /*normalize=*/false);
  return spec;
}

DecoderSpec DescribeDeepseek2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  RopeSpec& rope = spec.ropes.front();
  const double log_multiplier = rope.yarn_log_multiplier;
  if (log_multiplier != 0) rope.yarn_log_multiplier = 1;  // the magnitude goes into the scores instead
  LatentSpec latent;
  latent.absorbed = HasTensor(m, "blk.0.attn_k_b.weight");
  latent.kv_rank = m.Count("attention.kv_lora_rank", 1 << 20);
  latent.q_rank = HasTensor(m, "blk.0.attn_q_a.weight") ? m.Count("attention.q_lora_rank", 1 << 20) : 0;
  const int64_t query = m.CountOr("attention.key_length_mla", spec.layers.front().attention.k_dim, 1 << 20);
  latent.v_dim = m.CountOr("attention.value_length_mla", spec.layers.front().attention.v_dim, 1 << 20);
  latent.rope_dim = rope.rotated;
  latent.nope_dim = query - rope.rotated;
  if (latent.nope_dim < 1) m.Fail(Inconsistent(m, "attention.key_length_mla", "rope.dimension_count"));
  const float temperature = FactorOr(m, "attention.temperature_scale", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    AttentionSpec& a = layer.attention;
    a.latent = latent;
    a.temperature_scale = temperature;
    if (temperature != 0) a.temperature_floor = m.Count("attention.temperature_length");
    a.kv_heads = latent.absorbed ? 1 : a.heads;
    a.k_dim = latent.absorbed ? latent.kv_rank + latent.rope_dim : query;
    a.v_dim = latent.absorbed ? latent.kv_rank : latent.v_dim;
    a.scale = LatentScale(rope, log_multiplier, query);
  });
  AddDeepseekExperts(m, spec, ReadGating(m, Gating::kSoftmax), m.FlagOr("expert_weights_norm", false));
  return spec;
}

}  // namespace inferd::model
