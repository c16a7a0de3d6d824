// From the hidden states of a text's tokens to one vector, or to a ranking score.
#include <algorithm>
#include <utility>
#include <vector>

#include "config/base/status.h"
#include "engine/forward/forward.h"

namespace inferd::forward {
namespace {

using model::DecoderSpec;
using model::ModelWeights;
using model::Norm;
using model::Pooling;
using model::RankSpec;

// Mean in ascending order of rows.
void Mean(std::span<const float> hidden, int64_t rows, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < out.size(); ++i) out[i] += hidden[row * out.size() + i];
  }
  for (float& value : out) value /= static_cast<float>(rows);
}

void PoolInto(Pooling pooling, std::span<const float> hidden, int64_t rows, std::span<float> out) {
  switch (pooling) {
    case Pooling::kMean:
      return Mean(hidden, rows, out);
    case Pooling::kCls:
    case Pooling::kRank:
      std::copy_n(hidden.begin(), out.size(), out.begin());
      return;
    case Pooling::kNone:
    case Pooling::kLast:
      std::copy_n(hidden.end() - static_cast<int64_t>(out.size()), out.size(), out.begin());
      return;
  }
}

absl::Status Rank(device::Device& device, std::vector<float> x, std::span<float> scores) {
  const kernels::Kernels& k = *kernels::SelectKernels("reference");
  const ModelWeights& weights = device.model().weights();
  const RankSpec& rank = device.model().spec().rank;
  const auto width = static_cast<int64_t>(x.size());
  if (weights.rank_dense) {
    std::vector<float> dense(x.size());
    RETURN_IF_ERROR(device.Project(weights.rank_dense, x, dense));
    k.activate(rank.activation, dense.data(), width, x.data());
    if (const Norm& norm = weights.rank_norm; norm.present) {
      k.layer_norm(x.data(), norm.weight, norm.bias, norm.epsilon, width, x.data());
    }
  }
  if (weights.rank_output) {
    RETURN_IF_ERROR(device.Project(weights.rank_output, x, scores));
  } else {
    std::copy_n(x.begin(), scores.size(), scores.begin());
  }
  if (rank.softmax) k.softmax(scores.data(), static_cast<int64_t>(scores.size()), scores.data());
  return absl::OkStatus();
}

}  // namespace

int64_t PooledSize(const DecoderSpec& spec) { return spec.pooling == Pooling::kRank ? spec.rank.classes : spec.width; }

absl::Status Pool(device::Device& device, std::span<const float> hidden, int64_t rows, std::span<float> out) {
  const DecoderSpec& spec = device.model().spec();
  if (rows < 1 || hidden.size() != static_cast<size_t>(rows * spec.width)) {
    return InvalidArgument("pooling: {} values for {} rows of {}", hidden.size(), rows, spec.width);
  }
  if (out.size() != static_cast<size_t>(PooledSize(spec))) {
    return InvalidArgument("pooling: room for {} values, expected {}", out.size(), PooledSize(spec));
  }
  if (spec.pooling != Pooling::kRank) {
    PoolInto(spec.pooling, hidden, rows, out);
    return absl::OkStatus();
  }
  std::vector<float> x(spec.width);
  PoolInto(spec.rank.of, hidden, rows, x);
  return Rank(device, std::move(x), out);
}

}  // namespace inferd::forward
