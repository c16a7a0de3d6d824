// Snowflake Arctic: beside each layer's dense network runs one of experts, which reads the residual stream as it was
// before attention. https://www.snowflake.com/blog/arctic-open-efficient-foundation-language-models-snowflake
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeArctic(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.norm_places.before_experts = "ffn_norm_exps";
  AddRope(m, spec, RopePairing::kNeighbours);
  AddExperts(m, spec);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  ForEachLayer(spec, [](LayerSpec& layer) {  // feed_forward_length counts the experts' width
    if (layer.feed_forward.experts.count > 0) layer.feed_forward.experts.width = layer.feed_forward.width;
  });
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.input = ExpertInput::kOwnNormBeforeMixer;
    experts.weight_scale = scale;
    experts.shared_width = spec.width;
    experts.shared_is_dense = true;
  });
  return spec;
}

}  // namespace inferd::model
