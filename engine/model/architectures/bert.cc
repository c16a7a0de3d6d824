// Encoders with norms after each sum: BERT (learned positions), Nomic BERT (RoPE and a gated network; its second
// version with experts in every other layer). arXiv 1810.04805, 2402.01613, 2502.07972.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonBert(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kLayer);
  spec.encoder = true;
  spec.output_norm = "";
  spec.embedding_norm = true;
  spec.norm_places = {.before_mixer = "",
                      .after_mixer_sum = "attn_output_norm",
                      .before_feed_forward = "",
                      .after_feed_forward_sum = "layer_output_norm"};
  if (HasTensor(m, "token_types.weight")) spec.token_types = TokenTypeCount(m);
  return spec;
}

}  // namespace

DecoderSpec DescribeBert(Metadata& m) {
  DecoderSpec spec = CommonBert(m);
  spec.learned_positions = true;
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

DecoderSpec DescribeNomicBert(Metadata& m) {
  DecoderSpec spec = CommonBert(m);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

// Version 2 of Jina's: linear attention biases and GELU with a gate, in one tensor with the up projection or apart.
DecoderSpec DescribeJinaBert2(Metadata& m) {
  DecoderSpec spec = CommonBert(m);
  const bool apart = HasTensor(m, "blk.0.ffn_gate.weight"), norms = HasTensor(m, "blk.0.attn_q_norm.weight");
  const gguf::Tensor* up = m.file().FindTensor("blk.0.ffn_up.weight");
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.alibi_max_bias = 8.0f;
    layer.attention.qk_norm = norms ? QkNorm::kWhole : QkNorm::kNone;
    layer.attention.qk_norm_kind = NormKind::kLayer;
    FeedForwardSpec& f = layer.feed_forward;
    f.activation = Activation::kGeluHalf;
    f.fused_gate_up = !apart && up != nullptr && static_cast<int64_t>(up->dims[1]) == 2 * f.width;
    f.gated = apart || f.fused_gate_up;
  });
  return spec;
}

// Version 3 of Jina's: RoPE, and no gate.
DecoderSpec DescribeJinaBert3(Metadata& m) {
  DecoderSpec spec = DescribeNomicBert(m);
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  return spec;
}

DecoderSpec DescribeNomicBertMoe(Metadata& m) {
  DecoderSpec spec = DescribeNomicBert(m);
  UsePlainFeedForward(spec, Activation::kGeluHalf);
  const DecoderSpec dense = spec;
  const int64_t step = m.CountOr("moe_every_n_layers", 0);
  AddExperts(m, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (step == 0 || static_cast<int64_t>(i) % step != 1) spec.layers[i].feed_forward = dense.layers[i].feed_forward;
  }
  ForEachExpertLayer(spec, [](ExpertSpec& experts) { experts.normalize = false; });
  return spec;
}

// NeoBERT: norms before each branch (RMS) and gate and up in one tensor. arXiv 2502.19587.
DecoderSpec DescribeNeoBert(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.encoder = true;
  spec.output_norm = "enc.output_norm";
  AddRope(m, spec, RopePairing::kNeighbours);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.fused_gate_up = true; });
  return spec;
}

}  // namespace inferd::model
