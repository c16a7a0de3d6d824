// LFM2: short gated convolutions, and attention in the layers that have KV heads. arXiv 2511.23404.
#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

DecoderSpec CommonLfm2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  spec.output_norm = HasTensor(m, "output_norm.weight") ? "output_norm" : "token_embd_norm";
  AddRope(m, spec, RopePairing::kHalves);
  const int64_t taps = m.Count("shortconv.l_cache", 64);
  ForEachLayer(spec, [&](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kShared;
    if (layer.attention.kv_heads > 0) return;
    layer.attention.heads = 0;
    layer.recurrent = {.kind = RecurrentKind::kShortConvolution, .inner = spec.width, .convolution = taps};
  });
  return spec;
}

}  // namespace

DecoderSpec DescribeLfm2(Metadata& m) {
  DecoderSpec spec = CommonLfm2(m);
  const int64_t window = m.CountOr("attention.sliding_window", 0);
  ForEachLayer(spec, [&](LayerSpec& layer) { layer.attention.window = window; });
  return spec;
}

// Files declare no window that is applied.
DecoderSpec DescribeLfm2Moe(Metadata& m) {
  DecoderSpec spec = CommonLfm2(m);
  AddExperts(m, spec, m.CountOr("leading_dense_block_count", 0));
  const Gating gating = ReadGating(m, Gating::kSigmoid);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.gating = gating; });
  return spec;
}

}  // namespace inferd::model
