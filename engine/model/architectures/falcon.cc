// Falcon: attention and feed-forward side by side, from one norm (7B) or from two (40B). arXiv 2311.16867.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeFalcon(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  spec.parallel = true;
  spec.norm_places.before_feed_forward = "attn_norm";
  if (HasTensor(m, "blk.0.attn_norm_2.weight")) spec.norm_places.before_mixer = "attn_norm_2";
  return spec;
}

}  // namespace inferd::model
