// Qwen 1 to 3, dense and with experts. arXiv 2309.16609, 2407.10671, 2505.09388. The text part of the VL models is the
// same: their three position indices are equal in text. Mellum 2: Qwen 3 with windows. EuroBERT: the blocks of Qwen 2,
// seeing both ways.
#include "engine/model/architectures/common.h"

namespace inferd::model {

DecoderSpec DescribeQwen2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  return spec;
}

// Files count gate and up together.
DecoderSpec DescribeQwen1(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.feed_forward.width /= 2; });
  return spec;
}

DecoderSpec DescribeEurobert(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  spec.encoder = true;
  return spec;
}

DecoderSpec DescribeQwen3(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  ForEachLayer(spec, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kShared; });
  spec.rank.softmax = true;  // of the re-ranking models: the shares of "yes" and "no"
  return spec;
}

// One expert sees every token, weighed by a gate of its own.
DecoderSpec DescribeQwen2Moe(Metadata& m) {
  DecoderSpec spec = DescribeQwen2(m);
  AddExperts(m, spec);
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", spec.layers.front().feed_forward.width);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.normalize = false;
    experts.shared_width = shared;
    experts.shared_gate = true;
  });
  return spec;
}

DecoderSpec DescribeQwen3Moe(Metadata& m) {
  DecoderSpec spec = DescribeQwen3(m);
  AddExperts(m, spec);
  return spec;
}

DecoderSpec DescribeMellum(Metadata& m) {
  DecoderSpec spec = DescribeQwen3Moe(m);
  const Gating gating = ReadGating(m, Gating::kSoftmax);
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.gating = gating; });
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 4);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/false);
  return spec;
}

}  // namespace inferd::model
