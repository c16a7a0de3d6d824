// LLaMA and the models that kept its architecture: Mistral, Mixtral (experts), SmolLM2, Llama 3.x and many others; as
// an encoder that sees both ways (llama-embed); and the pruned Nemotrons (deci), whose layers may lack either branch.
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

DecoderSpec DescribeLlamaEmbed(Metadata& m) {
  DecoderSpec spec = DescribeLlama(m);
  spec.encoder = true;
  return spec;
}

DecoderSpec DescribeDeci(Metadata& m) {
  DecoderSpec spec = DescribeLlama(m);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.norm_before_mixer = layer.attention.heads > 0; });
  return spec;
}

// The text part of CogVLM, whose files hold a second set of matrices for the tokens of images.
DecoderSpec DescribeCogvlm(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  spec.unused_tensors = {"vis_"};
  return spec;
}

}  // namespace inferd::model
