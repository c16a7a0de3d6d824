// MPT and BLOOM: positions by linear attention biases (ALiBi, arXiv 2108.12409) instead of an embedding.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeMpt(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.learned_positions = HasTensor(m, "position_embd.weight");
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  const bool norms = HasTensor(m, "blk.0.attn_q_norm.weight");
  if (!norms) spec.unused_tensors = {"attn_k_norm."};  // keys are normed only where queries are
  const float clamp = FactorOr(m, "attention.clamp_kqv", 0), bias = FactorOr(m, "attention.max_alibi_bias", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.clamp_qkv = clamp;
    layer.attention.alibi_max_bias = bias;
    layer.attention.qk_norm = norms ? QkNorm::kWhole : QkNorm::kNone;
    layer.attention.qk_norm_kind = NormKind::kLayer;
  });
  return spec;
}

DecoderSpec DescribeBloom(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.embedding_norm = true;
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.alibi_max_bias = 8.0f; });
  return spec;
}

}  // namespace inferd::model
