// Llama 4: chunks of 8192 tokens and RoPE in three of four layers, the fourth sees everything, without RoPE but with
// queries that grow with their position; experts whose input, not output, is weighed, beside a shared one.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeLlama4(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  const DecoderSpec dense = spec;
  const int64_t step = m.Count("interleave_moe_layer_step");
  AddExperts(m, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (static_cast<int64_t>(i + 1) % step != 0) spec.layers[i].feed_forward = dense.layers[i].feed_forward;
  }
  ForEachExpertLayer(spec, [](ExpertSpec& experts) {
    experts.gating = Gating::kSigmoid;
    experts.normalize = false;
    experts.weigh_input = true;
    experts.shared_width = experts.width;
  });
  constexpr int64_t kChunk = 8192;
  const bool chunks = m.CountOr("attention.sliding_window", kChunk) > 0;
  if (chunks) AddWindows(m, spec, kChunk, 4);
  const bool norms = m.CountOr("expert_count", 0) != 128;  // Scout norms queries and keys, Maverick does not
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& a = spec.layers[i].attention;
    a.window_shape = WindowShape::kChunked;
    if (chunks && (i + 1) % 4 == 0) {
      a.rope = -1;
      a.temperature_floor = kChunk;
      a.temperature_offset = 1;
      a.temperature_scale = 0.1f;
    } else if (norms) {
      a.qk_norm = QkNorm::kPlain;
      a.qk_norm_after_rope = true;
    }
  }
  return spec;
}

}  // namespace inferd::model
