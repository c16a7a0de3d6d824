// Baichuan: LLaMA in two sizes, of which the 7B model (32 layers) has RoPE and the 13B model (40 layers) linear
// attention biases. Files do not say which: a model of any other depth gets neither, as in the reference implementation
// of GGUF models. arXiv 2309.10305.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeBaichuan(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  if (spec.layers.size() == 40) {
    ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.alibi_max_bias = 8.0f; });
  } else if (spec.layers.size() == 32) {
    AddRope(m, spec, RopePairing::kNeighbours);
  }
  return spec;
}

}  // namespace inferd::model
