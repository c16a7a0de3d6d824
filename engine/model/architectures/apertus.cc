// Apertus: LLaMA with norms of queries and keys, and the activation xIELU (arXiv 2411.13010) without a gate, whose
// numbers each layer learned. arXiv 2509.14233.
#include <cmath>
#include <vector>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

float Softplus(float x) { return x > 20 ? x : std::log(1 + std::exp(x)); }

}  // namespace

DecoderSpec DescribeApertus(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  UsePlainFeedForward(spec, Activation::kSilu);
  const auto layers = static_cast<int64_t>(spec.layers.size());
  const std::vector<float> negative = NumbersPerLayer(m, "xielu.alpha_n", layers),
                           positive = NumbersPerLayer(m, "xielu.alpha_p", layers),
                           beta = NumbersPerLayer(m, "xielu.beta", layers),
                           epsilon = NumbersPerLayer(m, "xielu.eps", layers);
  for (int64_t i = 0; i < layers; ++i) {
    spec.layers[i].attention.qk_norm = QkNorm::kShared;
    spec.layers[i].feed_forward.xielu = {.negative = beta[i] + Softplus(negative[i]),
                                         .positive = Softplus(positive[i]),
                                         .beta = beta[i],
                                         .epsilon = epsilon[i]};
  }
  return spec;
}

}  // namespace inferd::model
