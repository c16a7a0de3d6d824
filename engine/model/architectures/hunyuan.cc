// Hunyuan, dense, and Maincoder: queries and keys are normed after RoPE. The base of Hunyuan's grows with the context
// (NTK-aware scaling).
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeHunyuanDense(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  RopeSpec& rope = spec.ropes.front();
  const double alpha = m.RealOr("rope.scaling.alpha", 0), turned = static_cast<double>(rope.rotated);
  if (alpha > 0 && turned > 2) rope.base *= kernels::exact::Pow(alpha, turned / (turned - 2));
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    layer.attention.qk_norm_after_rope = true;
  });
  return spec;
}

DecoderSpec DescribeMaincoder(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    layer.attention.qk_norm_after_rope = true;
  });
  return spec;
}

}  // namespace inferd::model
