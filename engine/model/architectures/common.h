// What most families' metadata have in common, so that a description names only what is its own.
//
//   DecoderSpec spec = CommonDecoder(m, NormKind::kRms);   // sizes, layers, heads, feed-forward width, norm
//   AddRope(m, spec, RopePairing::kHalves);                // base, scaling and factors, for all layers
//   AddExperts(m, spec);                                   // where the file counts any
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/decoder_spec.h"
#include "engine/model/metadata.h"

namespace inferd::model {

using kernels::Activation;
using kernels::RopePairing;

// Sizes, context, vocabulary, norm epsilon, and for each layer heads, head dimensions and feed-forward width; without
// RoPE. Layers without heads (count 0) get no attention.
DecoderSpec CommonDecoder(Metadata& m, NormKind norm);

// The rotary embedding that rope.* keys and factor tensors declare, appended to spec.ropes and used by all layers.
RopeSpec ReadRope(Metadata& m, const DecoderSpec& spec, RopePairing pairing);
void AddRope(Metadata& m, DecoderSpec& spec, RopePairing pairing);

// Expert networks in all layers from `first` on, if expert_count > 0: softmax router, weights normalized.
void AddExperts(Metadata& m, DecoderSpec& spec, int64_t first = 0);
// Some dense layers first, then routed experts beside expert_shared_count shared ones.
void AddSharedExperts(Metadata& m, DecoderSpec& spec, Gating gating);
Gating ReadGating(Metadata& m, Gating fallback);

// The recurrent mixer that ssm.* keys declare; groups only of kinds that have them.
RecurrentSpec ReadMixer(Metadata& m, RecurrentKind kind);

// Windows for the layers that sliding_window_pattern marks: an array of flags, or a period p whose every p-th layer
// (the last of each p, or the first) sees everything. period 0: no layer has a window; 1: all have one.
enum class FullLayer : uint8_t { kLastOfPeriod, kFirstOfPeriod };
void AddWindows(Metadata& m, DecoderSpec& spec, int64_t window, int64_t default_period,
                FullLayer full = FullLayer::kLastOfPeriod);

// Layers with a window use a second RoPE: rope.freq_base_swa or `base`, with the scaling of the first or with none.
void UseLocalRope(Metadata& m, DecoderSpec& spec, double base, bool scaled);

// down(act(up(x))), without a gate.
void UsePlainFeedForward(DecoderSpec& spec, Activation activation);

bool HasTensor(const Metadata& m, std::string_view name);
float FactorOr(Metadata& m, std::string_view key, double fallback);  // 0 in the file means: not set
int64_t TokenTypeCount(Metadata& m);
std::vector<float> NumbersPerLayer(Metadata& m, std::string_view whole_key,
                                   int64_t layers);  // one for all, or an array
absl::Status NeedsExperts(const Metadata& m);
absl::Status Inconsistent(const Metadata& m, std::string_view key, std::string_view other);
absl::Status UnknownText(const Metadata& m, std::string_view key, std::string_view value, std::string_view expected);

template <typename Change>
void ForEachLayer(DecoderSpec& spec, Change change) {
  for (LayerSpec& layer : spec.layers) change(layer);
}

template <typename Change>
void ForEachExpertLayer(DecoderSpec& spec, Change change) {
  for (LayerSpec& layer : spec.layers) {
    if (layer.feed_forward.experts.count > 0) change(layer.feed_forward.experts);
  }
}

}  // namespace inferd::model
