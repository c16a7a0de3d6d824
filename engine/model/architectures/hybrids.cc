// Hybrids of Mamba and attention: Jamba (arXiv 2403.19887), Granite 4, and Nemotron-H (arXiv 2504.03624), whose layers
// are one of three: a mixer, attention, or a feed-forward network. Layers without KV heads have the recurrent mixer.
#include <string>

#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeGraniteMoe(Metadata& m);

namespace {

void UseMixerWithoutKvHeads(DecoderSpec& spec, const RecurrentSpec& mixer) {
  ForEachLayer(spec, [&](LayerSpec& layer) {
    if (layer.attention.kv_heads > 0) return;
    layer.attention = {};
    layer.recurrent = mixer;
  });
}

}  // namespace

DecoderSpec DescribeJamba(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  RecurrentSpec mixer = ReadMixer(m, RecurrentKind::kMamba);
  mixer.norm_dt_b_c = true;
  UseMixerWithoutKvHeads(spec, mixer);
  const DecoderSpec dense = spec;
  AddExperts(m, spec);
  ForEachExpertLayer(spec, [](ExpertSpec& experts) { experts.normalize = false; });
  for (size_t i = 0; i < spec.layers.size(); ++i) {  // some layers only
    if (!HasTensor(m, "blk." + std::to_string(i) + ".ffn_gate_inp.weight")) {
      spec.layers[i].feed_forward = dense.layers[i].feed_forward;
    }
  }
  return spec;
}

DecoderSpec DescribeGraniteHybrid(Metadata& m) {
  DecoderSpec spec = DescribeGraniteMoe(m);
  if (!m.FlagOr("rope.scaling.finetuned", true)) {
    ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.rope = -1; });
  }
  UseMixerWithoutKvHeads(spec, ReadMixer(m, RecurrentKind::kMamba2));
  return spec;
}

// Falcon H1: every layer has both, side by side. arXiv 2507.22448.
DecoderSpec DescribeFalconH1(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  RecurrentSpec mixer = ReadMixer(m, RecurrentKind::kMamba2);
  mixer.norm = HasTensor(m, "blk.0.ssm_norm.weight");
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.recurrent = mixer; });
  return spec;
}

DecoderSpec DescribeNemotronH(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  const RecurrentSpec mixer = ReadMixer(m, RecurrentKind::kMamba2);
  spec.norm_places.before_feed_forward = "attn_norm";
  UsePlainFeedForward(spec, Activation::kReluSquared);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    const bool feeds = layer.feed_forward.width > 0, attends = layer.attention.kv_heads > 0 && !feeds;
    if (!attends) layer.attention = {};
    if (!attends && !feeds) layer.recurrent = mixer;
    layer.norm_before_mixer = !feeds;
  });
  return spec;
}

// The feed-forward layers have experts, without gates too, and a shared one of its own width.
DecoderSpec DescribeNemotronHMoe(Metadata& m) {
  DecoderSpec spec = DescribeNemotronH(m);
  const DecoderSpec dense = spec;
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  const bool normalize = m.FlagOr("expert_weights_norm", false);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (dense.layers[i].feed_forward.width == 0) spec.layers[i].feed_forward = dense.layers[i].feed_forward;
  }
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = Gating::kSigmoid;
    experts.normalize = normalize;
    experts.weight_scale = scale;
    experts.shared_width = shared;
  });
  return spec;
}

}  // namespace inferd::model
