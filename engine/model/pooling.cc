// From the hidden states of a text's tokens to one vector, or to a ranking score.
#include <algorithm>
#include <cmath>
#include <vector>

#include "config/base/status.h"
#include "engine/model/forward.h"

namespace inferd::model {
namespace {

// Mean in ascending order of rows.
void Mean(std::span<const float> hidden, int64_t rows, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < out.size(); ++i) out[i] += hidden[row * out.size() + i];
  }
  for (float& value : out) value /= static_cast<float>(rows);
}

// Sequence classification of BERT: output(tanh(pooler(first token))); either matrix may be absent.
void Rank(device::Device& device, std::span<const float> first, std::span<float> out) {
  const ModelWeights& weights = device.model().weights();
  std::vector<float> x(first.begin(), first.end());
  if (weights.pooler) {
    std::vector<float> pooled(x.size());
    device.Project(weights.pooler, x, pooled);
    for (float& value : pooled) value = std::tanh(value);
    x = std::move(pooled);
  }
  if (weights.pooler_output) {
    device.Project(weights.pooler_output, x, out);
  } else {
    std::copy_n(x.begin(), out.size(), out.begin());
  }
}

}  // namespace

int64_t PooledSize(const DecoderSpec& spec) {
  return spec.pooling == Pooling::kRank ? std::max<int64_t>(spec.classes, 1) : spec.width;
}

absl::Status Pool(device::Device& device, std::span<const float> hidden, int64_t rows, std::span<float> out) {
  const DecoderSpec& spec = device.model().spec();
  if (rows < 1 || hidden.size() != static_cast<size_t>(rows * spec.width)) {
    return InvalidArgument("pooling: {} values for {} rows of {}", hidden.size(), rows, spec.width);
  }
  if (out.size() != static_cast<size_t>(PooledSize(spec))) {
    return InvalidArgument("pooling: room for {} values, expected {}", out.size(), PooledSize(spec));
  }
  const size_t width = static_cast<size_t>(spec.width);
  switch (spec.pooling) {
    case Pooling::kNone:
    case Pooling::kLast: std::copy_n(hidden.end() - spec.width, width, out.begin()); break;
    case Pooling::kMean: Mean(hidden, rows, out); break;
    case Pooling::kCls: std::copy_n(hidden.begin(), width, out.begin()); break;
    case Pooling::kRank: Rank(device, hidden.first(width), out); break;
  }
  return absl::OkStatus();
}

}  // namespace inferd::model
