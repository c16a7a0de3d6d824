// MiniMax M2: experts chosen by sigmoid scores, norms over whole queries and keys, and a partial RoPE.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeMinimaxM2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddExperts(m, spec);
  const Gating gating = ReadGating(m, Gating::kSigmoid);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kWhole; });
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.gating = gating; });
  return spec;
}

}  // namespace inferd::model
