// Qwen3-Next and Qwen 3.5: three of four layers are gated delta nets (arXiv 2412.06464), the others attention with a
// gated output.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeQwen35(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.before_feed_forward = "post_attention_norm";
  AddRope(m, spec, RopePairing::kHalves);
  const RecurrentSpec mixer = ReadMixer(m, RecurrentKind::kGatedDeltaNet);
  const auto layers = static_cast<int64_t>(spec.layers.size());
  const int64_t interval = m.CountOr("full_attention_interval", 4);
  std::vector<int64_t> recurrent = m.CountPerLayer("attention.recurrent_layers", layers, -1);
  for (int64_t i = 0; i < layers; ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.attention.qk_norm = QkNorm::kShared;
    layer.attention.gated_output = true;
    if (recurrent[i] < 0) recurrent[i] = interval > 0 && (i + 1) % interval == 0 ? 0 : 1;
    if (recurrent[i] == 0) continue;
    layer.attention = {};
    layer.recurrent = mixer;
  }
  return spec;
}

namespace {

DecoderSpec WithExperts(Metadata& m, DecoderSpec spec) {
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.shared_width = shared;
    experts.shared_gate = shared > 0;
  });
  return spec;
}

}  // namespace

DecoderSpec DescribeQwen35Moe(Metadata& m) { return WithExperts(m, DescribeQwen35(m)); }

// The same blocks before they were renamed; value heads are in another order.
DecoderSpec DescribeQwen3Next(Metadata& m) {
  DecoderSpec spec = WithExperts(m, DescribeQwen35(m));
  ForEachLayer(spec, [](LayerSpec& layer) { layer.recurrent.heads_by_group = true; });
  return spec;
}

}  // namespace inferd::model
