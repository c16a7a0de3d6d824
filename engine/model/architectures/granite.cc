// Granite, dense and with experts: LLaMA with factors on embedding, residual, scores and logits. arXiv 2405.04324.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeGranite(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  // The hybrids' may be missing, as in the reference implementation; dense files without it are unsound.
  const double logits = m.architecture() == "granitehybrid" ? m.RealOr("logit_scale", 0) : m.Real("logit_scale");
  if (logits != 0) spec.logit_scale = static_cast<float>(1.0 / logits);
  spec.embedding_scale = FactorOr(m, "embedding_scale", 1);
  spec.residual_scale = FactorOr(m, "residual_scale", 1);
  const float scale = FactorOr(m, "attention.scale", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.scale = scale; });
  return spec;
}

DecoderSpec DescribeGraniteMoe(Metadata& m) {
  DecoderSpec spec = DescribeGranite(m);
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.shared_width = shared; });
  return spec;
}

// Windows, sinks, and RoPE only in the layers that the file marks.
DecoderSpec DescribeGraniteSwa(Metadata& m) {
  DecoderSpec spec = DescribeGraniteMoe(m);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 0);
  const std::vector<int64_t> turned =
      m.CountPerLayer("attention.rope_pattern", static_cast<int64_t>(spec.layers.size()), 1);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].attention.sinks = true;
    if (turned[i] == 0) spec.layers[i].attention.rope = -1;
  }
  return spec;
}

}  // namespace inferd::model
