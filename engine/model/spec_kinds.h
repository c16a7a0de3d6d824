// The choices that a specification is made of, each with what it means.
//
//   layer.attention.qk_norm = QkNorm::kShared;
#pragma once

#include <cstdint>

namespace inferd::model {

enum class NormKind : uint8_t {
  kRms,
  kLayer,
  kBiasedRms,  // kRms, then a bias
};
enum class Bias : uint8_t { kIfPresent, kRequired };
enum class QkNorm : uint8_t {
  kNone,
  kShared,   // one weight [head] for all heads
  kPerHead,  // weights [head][heads]
  kWhole,    // over all heads together, weights [heads * head]
  kPlain,    // of each head, without weights
};
enum class WindowShape : uint8_t {
  kCausal,   // the last `window` tokens
  kCentred,  // encoders: window / 2 tokens to either side
  kChunked,  // only tokens of the same `window`-aligned chunk
};
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn, kLongRope };
enum class Gating : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };  // how a router's logits become weights
enum class RecurrentKind : uint8_t { kNone, kShortConvolution, kMamba, kMamba2, kGatedDeltaNet };
// What an expert network reads, and its router. Before the mixer: the residual stream as the layer got it.
enum class ExpertInput : uint8_t { kFeedForward, kOwnNorm, kOwnNormBeforeMixer };
enum class RouterInput : uint8_t {
  kExperts,      // what the experts read
  kBeforeMixer,  // without a norm
  kScaledNorm,   // the stream's plain norm / sqrt(width), times a scale of each element
};
// Rows of attn_gate: one for each element of each head, or one for each head.
enum class GateTensor : uint8_t { kNone, kElements, kHeads };
enum class Pooling : uint8_t { kNone, kMean, kCls, kLast, kRank };

}  // namespace inferd::model
