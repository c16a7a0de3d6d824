// BitNet b1.58: LLaMA with norms before the output and the down projection. arXiv 2310.11453, 2504.12285. The ternary
// weights are a tensor type (TQ1_0, TQ2_0) with a scale beside each matrix.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeBitnet(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.inside_mixer = "attn_sub_norm";
  spec.norm_places.inside_feed_forward = "ffn_sub_norm";
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

}  // namespace inferd::model
