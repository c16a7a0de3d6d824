// StableLM: LLaMA with LayerNorm and a partial RoPE; the 12B model norms queries and keys of each head and has no
// second norm, because its branches run side by side. arXiv 2402.17834.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeStablelm(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  AddRope(m, spec, RopePairing::kHalves);
  spec.parallel = !HasTensor(m, "blk.0.ffn_norm.weight");
  if (spec.parallel) spec.norm_places.before_feed_forward = "";
  const bool norms = HasTensor(m, "blk.0.attn_q_norm.weight");
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.qk_norm = norms ? QkNorm::kPerHead : QkNorm::kNone;
    layer.attention.qk_norm_kind = NormKind::kLayer;
  });
  return spec;
}

}  // namespace inferd::model
