// Sizes of recurrent mixers: what a sequence keeps, and what a pass needs for each row.
#pragma once

#include <cstdint>

#include "engine/model/decoder_spec.h"

namespace inferd::device {

// Channels that pass through the convolution.
inline int64_t ConvolvedChannels(const model::RecurrentSpec& r) {
  const bool grouped = r.kind == model::RecurrentKind::kMamba2 || r.kind == model::RecurrentKind::kGatedDeltaNet;
  return r.inner + (grouped ? 2 * r.groups * r.state : 0);
}

// State of one layer and sequence, in floats: [taps - 1][channels] of the convolution's past, then the mixer's own.
inline int64_t ConvolutionStateSize(const model::RecurrentSpec& r) {
  return (r.convolution - 1) * ConvolvedChannels(r);
}
inline int64_t StateBytes(const model::RecurrentSpec& r) {
  if (r.kind == model::RecurrentKind::kNone) return 0;
  const bool only_convolution = r.kind == model::RecurrentKind::kShortConvolution;
  return (ConvolutionStateSize(r) + (only_convolution ? 0 : r.inner * r.state)) * static_cast<int64_t>(sizeof(float));
}

// Floats of scratch for one row: projections, convolved channels, time steps and gates, the mixer's output.
inline int64_t RecurrentWidth(const model::RecurrentSpec& r) {
  const int64_t channels = ConvolvedChannels(r);
  switch (r.kind) {
    case model::RecurrentKind::kNone:
      return 0;
    case model::RecurrentKind::kShortConvolution:
      return 5 * r.inner;  // b c x, b * x, convolved
    case model::RecurrentKind::kMamba:
      return 4 * r.inner + r.heads + 2 * r.state;  // x z, convolved, dt; dt b c
    case model::RecurrentKind::kMamba2:
      return 2 * r.inner + 2 * channels + r.heads;  // z x b c dt, convolved, out
    case model::RecurrentKind::kGatedDeltaNet:
      return 2 * channels + 2 * r.inner + 4 * r.heads;
  }
  return 0;
}

}  // namespace inferd::device
