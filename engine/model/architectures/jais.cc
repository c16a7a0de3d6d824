// Jais: GPT-2 with linear attention biases, a gated network, and scores scaled by the width of a head instead of its
// root. arXiv 2308.16149. Refact: the same biases on the blocks of LLaMA.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeJais(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  const float bias = FactorOr(m, "attention.max_alibi_bias", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.alibi_max_bias = bias;
    if (layer.attention.k_dim > 0) layer.attention.scale = 1.0f / static_cast<float>(layer.attention.k_dim);
  });
  return spec;
}

DecoderSpec DescribeRefact(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.alibi_max_bias = 8.0f; });
  return spec;
}

}  // namespace inferd::model
