// MiniCPM: LLaMA with factors on embedding, residual and logits. arXiv 2404.06395. Older files leave them out; then
// they are those of the first models.
#include <cmath>

#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeMinicpm(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  const double layers = static_cast<double>(spec.layers.size());
  spec.embedding_scale = FactorOr(m, "embedding_scale", 12.0);
  spec.residual_scale = FactorOr(m, "residual_scale", 1.4 / std::sqrt(layers));
  spec.logit_scale = 1.0f / FactorOr(m, "logit_scale", static_cast<double>(spec.width) / 256.0);
  return spec;
}

}  // namespace inferd::model
