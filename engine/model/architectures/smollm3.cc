// SmolLM3: LLaMA in which every fourth layer has no position embedding (NoPE, arXiv 2501.18795).
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeSmollm3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  for (size_t i = 3; i < spec.layers.size(); i += 4) spec.layers[i].attention.rope = -1;
  return spec;
}

}  // namespace inferd::model
