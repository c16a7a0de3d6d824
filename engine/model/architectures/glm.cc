// ChatGLM 3 / GLM-4 (chatglm) and GLM-4-0414 (glm4, with norms after each branch). arXiv 2406.12793. Both have a
// partial RoPE and gate and up in one tensor.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeChatglm(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.fused_gate_up = true; });
  return spec;
}

// Files that also see images declare sections of the position, and pair halves instead of neighbours.
DecoderSpec DescribeGlm4(Metadata& m) {
  DecoderSpec spec = DescribeChatglm(m);
  spec.norm_places.after_mixer = "post_attention_norm";
  spec.norm_places.after_feed_forward = "post_ffw_norm";
  const std::vector<int64_t> sections = m.Counts("rope.dimension_sections");
  if (sections.size() >= 2 && sections[0] > 0 && sections[1] > 0) spec.ropes.front().pairing = RopePairing::kHalves;
  return spec;
}

}  // namespace inferd::model
