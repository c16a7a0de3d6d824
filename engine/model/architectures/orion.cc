// Orion: LLaMA with LayerNorm. arXiv 2401.12246.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeOrion(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

}  // namespace inferd::model
