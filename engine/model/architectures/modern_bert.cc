// ModernBERT: an encoder with norms before each branch, a gated network, and windows to both sides in two of three
// layers. arXiv 2412.13663.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeModernBert(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.encoder = true;
  spec.embedding_norm = true;
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 3, FullLayer::kFirstOfPeriod);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  const std::string activation = m.TextOr("hidden_activation", "gelu");
  if (activation != "gelu" && activation != "silu")
    m.Fail(UnknownText(m, "hidden_activation", activation, "gelu or silu"));
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.window_shape = WindowShape::kCentred;
    layer.feed_forward.fused_gate_up = true;
    layer.feed_forward.activation = activation == "silu" ? Activation::kSilu : Activation::kGeluHalf;
  });
  spec.rank.activation = Activation::kGeluHalf;
  if (!m.Has("classifier.pooling_type")) spec.rank.of = Pooling::kMean;
  if (!HasTensor(m, "blk.0.attn_norm.weight"))
    spec.layers.front().norm_before_mixer = false;  // the embedding's is enough
  return spec;
}

}  // namespace inferd::model
