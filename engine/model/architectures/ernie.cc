// ERNIE 4.5, dense (and the text part of PaddleOCR-VL, whose RoPE pairs halves) and with experts in every n-th layer
// after the first dense ones.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeErnie(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  return spec;
}

DecoderSpec DescribePaddleOcr(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

DecoderSpec DescribeErnieMoe(Metadata& m) {
  DecoderSpec spec = DescribeErnie(m);
  const DecoderSpec dense = spec;
  const int64_t step = m.Count("interleave_moe_layer_step");
  AddExperts(m, spec, m.CountOr("leading_dense_block_count", 0));
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (static_cast<int64_t>(i + 1) % step != 0) spec.layers[i].feed_forward = dense.layers[i].feed_forward;
  }
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.shared_width = shared; });
  return spec;
}

}  // namespace inferd::model
