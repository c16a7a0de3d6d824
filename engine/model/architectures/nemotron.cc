// Nemotron and Arcee: squared ReLU without a gate; Nemotron with LayerNorm and a partial RoPE. arXiv 2402.16819.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeNemotron(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  UsePlainFeedForward(spec, Activation::kReluSquared);
  return spec;
}

DecoderSpec DescribeArcee(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  UsePlainFeedForward(spec, Activation::kReluSquared);
  return spec;
}

}  // namespace inferd::model
