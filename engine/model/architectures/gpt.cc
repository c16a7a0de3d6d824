// GPT-2 (learned positions) and GPT-NeoX / Pythia (partial RoPE, branches side by side or one after the other).
// arXiv 2204.06745, 2304.01373.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeGpt2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.learned_positions = true;
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

DecoderSpec DescribeGptNeox(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  spec.parallel = m.FlagOr("use_parallel_residual", true);
  return spec;
}

}  // namespace inferd::model
