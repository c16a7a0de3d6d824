// Baichuan: LLaMA, of which the 13B model (40 layers) has linear attention biases instead of RoPE. arXiv 2309.10305.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeBaichuan(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  if (spec.layers.size() == 40) {
    ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.alibi_max_bias = 8.0f; });
  } else {
    AddRope(m, spec, RopePairing::kNeighbours);
  }
  return spec;
}

}  // namespace inferd::model
