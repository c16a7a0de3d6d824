// Ministral 3: LLaMA whose queries grow with the logarithm of their position beyond the context of the first training.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeMistral3(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kNeighbours);
  AddExperts(m, spec);
  const float temperature = FactorOr(m, "attention.temperature_scale", 0), scale = FactorOr(m, "attention.scale", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.scale = scale;
    layer.attention.temperature_scale = temperature;
    if (temperature != 0) layer.attention.temperature_floor = spec.ropes.front().original_context;
  });
  return spec;
}

}  // namespace inferd::model
