// StarCoder (learned positions, one KV head) and StarCoder 2 (RoPE). arXiv 2305.06161, 2402.19173.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeStarcoder(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.learned_positions = true;
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

DecoderSpec DescribeStarcoder2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

}  // namespace inferd::model
