// Seed-OSS: LLaMA with biases of q, k and v, and another name for the norm before the feed-forward network.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeSeedOss(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.before_feed_forward = "post_attention_norm";
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

}  // namespace inferd::model
