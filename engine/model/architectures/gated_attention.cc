// Families with a gate on attention's output and windows in most layers, each with a RoPE of its own: Step 3.5 (arXiv
// 2602.10604), Laguna and Spark 2.5; and MiMo 2 (arXiv 2601.02780), which scales values instead.
#include <string>

#include "engine/model/architectures/common.h"

namespace inferd::model {

namespace {

void AddSigmoidExperts(Metadata& m, DecoderSpec& spec, bool normalize) {
  const DecoderSpec dense = spec;
  AddExperts(m, spec);
  const Gating gating = ReadGating(m, Gating::kSigmoid);
  const float scale = FactorOr(m, "expert_weights_scale", 1);
  for (size_t i = 0; i < spec.layers.size(); ++i) {  // which layers are dense shows in their tensors
    FeedForwardSpec& f = spec.layers[i].feed_forward;
    if (!HasTensor(m, "blk." + std::to_string(i) + ".ffn_gate_inp.weight")) f = dense.layers[i].feed_forward;
  }
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) {
    experts.gating = gating;
    experts.normalize = normalize;
    experts.weight_scale = scale;
  });
}

void SetSharedWidth(DecoderSpec& spec, int64_t width) {
  ForEachExpertLayer(spec, [&](ExpertSpec& experts) { experts.shared_width = width > 0 ? width : experts.width; });
}

// Layers with a window turn rope.dimension_count_swa dimensions.
void TurnLocally(Metadata& m, DecoderSpec& spec, int64_t fallback) {
  spec.ropes.back().rotated = m.CountOr("rope.dimension_count_swa", fallback);
}

}  // namespace

// Layers without a window turn half of the dimensions that the file counts.
DecoderSpec DescribeStep35(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  TurnLocally(m, spec, spec.ropes.front().rotated);
  RopeSpec& full = spec.ropes.front();
  full.rotated /= 2;
  for (std::vector<float>* factors : {&full.factors_short, &full.factors_long}) {
    if (!factors->empty()) factors->resize(full.rotated / 2);
  }
  const bool norms = HasTensor(m, "blk.0.attn_q_norm.weight"), gate = HasTensor(m, "blk.0.attn_gate.weight");
  AddSigmoidExperts(m, spec, m.FlagOr("expert_weights_norm", false));
  SetSharedWidth(spec, m.CountOr("expert_shared_feed_forward_length", 0));
  const auto layers = static_cast<int64_t>(spec.layers.size());
  const std::string prefix = m.architecture() + ".";
  const auto limits = [&](std::string_view key) {
    return m.Has(key) ? NumbersPerLayer(m, prefix + std::string(key), layers) : std::vector<float>(layers);
  };
  const std::vector<float> of_experts = limits("swiglu_clamp_exp"), of_dense = limits("swiglu_clamp_shexp");
  for (int64_t i = 0; i < layers; ++i) {
    LayerSpec& layer = spec.layers[i];
    layer.attention.qk_norm = norms ? QkNorm::kShared : QkNorm::kNone;
    layer.attention.gate_tensor = gate ? GateTensor::kHeads : GateTensor::kNone;
    layer.feed_forward.limit = of_dense[i];
    layer.feed_forward.experts.limit = of_experts[i];
  }
  return spec;
}

// A gate for each head or for each element, through softplus; layers with a window have a plain RoPE.
DecoderSpec DescribeLaguna(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.CountOr("attention.sliding_window", 0), 4, FullLayer::kFirstOfPeriod);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/false);
  TurnLocally(m, spec, spec.ropes.front().rotated);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& a = spec.layers[i].attention;
    const gguf::Tensor* gate = m.file().FindTensor("blk." + std::to_string(i) + ".attn_gate.weight");
    const bool by_head = gate == nullptr || static_cast<int64_t>(gate->dims[1]) == a.heads;
    a.qk_norm = QkNorm::kShared;
    a.gate_tensor = by_head ? GateTensor::kHeads : GateTensor::kElements;
    a.gate_activation = Activation::kSoftplus;
  }
  AddSharedExperts(m, spec, ReadGating(m, Gating::kSigmoid));
  const int64_t shared = m.CountOr("expert_shared_feed_forward_length", 0),
                count = m.CountOr("expert_shared_count", 1, kernels::kMaximumExperts);
  ForEachExpertLayer(spec,
                     [&](ExpertSpec& experts) { experts.shared_width = shared > 0 ? shared : experts.width * count; });
  return spec;
}

DecoderSpec DescribeSpark25(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4);
  UseLocalRope(m, spec, spec.ropes.front().base, /*scaled=*/true);
  TurnLocally(m, spec, spec.ropes.front().rotated);
  ForEachLayer(spec, [](LayerSpec& layer) {
    layer.attention.gate_tensor = GateTensor::kHeads;
    layer.feed_forward.activation = Activation::kGeluHalf;
  });
  return spec;
}

DecoderSpec DescribeMimo2(Metadata& m) {
  DecoderSpec spec = CommonDecoder(m, NormKind::kRms);
  AddRope(m, spec, RopePairing::kHalves);
  AddWindows(m, spec, m.Count("attention.sliding_window"), 4);
  UseLocalRope(m, spec, 10000.0, /*scaled=*/false);
  AddSigmoidExperts(m, spec, /*normalize=*/true);
  ForEachExpertLayer(spec, [](ExpertSpec& experts) { experts.gating = Gating::kSigmoid; });
  const float scale = FactorOr(m, "attention.value_scale", 1);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& a = spec.layers[i].attention;
    a.value_scale = scale;
    a.sinks = HasTensor(m, "blk." + std::to_string(i) + ".attn_sinks.weight");
  }
  return spec;
}

}  // namespace inferd::model
