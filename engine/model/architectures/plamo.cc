// PLaMo: attention and feed-forward side by side, from one norm.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribePlamo(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.parallel = true;
  spec.norm_places.before_feed_forward = "";
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

}  // namespace inferd::model
