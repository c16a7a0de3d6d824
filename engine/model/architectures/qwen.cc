// Qwen 2 and 3, dense and with experts. arXiv 2407.10671, 2505.09388. The text part of the VL models is the same: their
// three position indices are equal in text.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeQwen2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

DecoderSpec DescribeQwen3(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  spec.rank.softmax = true;  // of the re-ranking models: the shares of "yes" and "no"
  return spec;
}

// One expert sees every token, weighed by a gate of its own.
DecoderSpec DescribeQwen2Moe(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", spec.layers.front().feed_forward.width);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.normalize = false;
    experts.shared_width = shared;
    experts.shared_gate = true;
  });
  return spec;
}

DecoderSpec DescribeQwen3Moe(Metadata& m) {
  DecoderSpec spec = DescribeQwen3(m);
  AddExperts(m, spec);
  return spec;
}

}  // namespace inferd::model
