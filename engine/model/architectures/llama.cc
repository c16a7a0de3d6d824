// LLaMA and the models that kept its architecture: Mistral, Mixtral (experts), SmolLM2, Llama 3.x and many others.
// arXiv 2302.13971, 2310.06825, 2401.04088.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeLlama(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  AddExperts(m, spec);
  const float scale = static_cast<float>(m.RealOr("attention.scale", 0));
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.scale = scale; });
  return spec;
}

}  // namespace inferd::model
