#include "engine/tools/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "config/base/status.h"
#include "engine/forward/forward.h"

namespace inferd::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The same tokens every time, spread over the vocabulary.
std::vector<int32_t> SomeTokens(int64_t count, int64_t vocabulary, int64_t salt) {
  std::vector<int32_t> tokens(count);
  for (int64_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>((i * 7919 + salt * 104729) % vocabulary);
  return tokens;
}

absl::StatusOr<std::unique_ptr<cache::Sequence>> Prefilled(Runnable& runnable, std::span<const int32_t> tokens,
                                                           forward::Rows wanted) {
  cache::KvCache& cache = runnable.device->cache();
  ASSIGN_OR_RETURN(auto sequence, cache.NewSequence({}));
  const int64_t step_tokens = runnable.device->options().max_batch_tokens;
  for (size_t begin = 0; begin < tokens.size(); begin += step_tokens) {
    const auto chunk = tokens.subspan(begin, std::min<size_t>(step_tokens, tokens.size() - begin));
    RETURN_IF_ERROR(cache.Reserve(*sequence, static_cast<int64_t>(chunk.size())));
    const bool last = begin + chunk.size() == tokens.size();
    const forward::SequenceStep step = {sequence.get(), chunk, last ? wanted : forward::Rows::kNone};
    RETURN_IF_ERROR(forward::Forward(*runnable.device, {&step, 1}).status());
  }
  return sequence;
}

struct DecodeBatch {
  std::vector<std::unique_ptr<cache::Sequence>> sequences;
  std::vector<int32_t> tokens;
};

absl::Status DecodeStep(Runnable& runnable, DecodeBatch& batch) {
  std::vector<forward::SequenceStep> steps;
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    RETURN_IF_ERROR(runnable.device->cache().Reserve(*batch.sequences[i], 1));
    steps.push_back({batch.sequences[i].get(), std::span(&batch.tokens[i], 1), forward::Rows::kLast});
  }
  ASSIGN_OR_RETURN(forward::ForwardResult result, forward::Forward(*runnable.device, steps));
  for (size_t i = 0; i < batch.tokens.size(); ++i) {
    ASSIGN_OR_RETURN(const std::span<const float> row, result.Row(static_cast<int64_t>(i)));
    batch.tokens[i] = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return absl::OkStatus();
}

bool IsFloat(kernels::TensorType type) {
  return kernels::TraitsOf(type).activation == kernels::ActivationFormat::kFloat;
}

double LimitSeconds(double int8_ops, double float_ops, double bytes, const MachineLimits& limits) {
  return std::max(int8_ops / limits.int8_ops_per_second + float_ops / limits.f32_flops_per_second,
                  bytes / limits.read_bytes_per_second);
}

}  // namespace

Workload WorkloadOf(const model::Model& model) {
  Workload work;
  const model::Linear& head = model.weights().head;
  double expert_share = 1;
  for (const model::LayerSpec& layer : model.spec().layers) {
    const model::ExpertSpec& experts = layer.feed_forward.experts;
    if (experts.count > 0) expert_share = static_cast<double>(experts.used) / static_cast<double>(experts.count);
  }
  for (const gguf::Tensor& tensor : model.file().tensors()) {
    if (tensor.n_dims < 2) continue;
    const bool is_head = tensor.data == head.weights.data;
    if (!is_head && !tensor.name.starts_with("blk.")) continue;  // embeddings: a row at a time
    const double share = tensor.name.find("_exps") != std::string_view::npos ? expert_share : 1;
    const double ops = 2 * share * static_cast<double>(tensor.elements());
    double& sum = is_head ? (IsFloat(tensor.type) ? work.head_float_ops : work.head_int8_ops)
                          : (IsFloat(tensor.type) ? work.float_ops_per_token : work.int8_ops_per_token);
    sum += ops;
    work.bytes_per_pass += share * static_cast<double>(tensor.bytes);
  }
  return work;
}

absl::StatusOr<double> MeasurePrefill(Runnable& runnable, int64_t tokens, int runs) {
  const std::vector<int32_t> prompt = SomeTokens(tokens, runnable.model->vocabulary_size(), 0);
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    RETURN_IF_ERROR(Prefilled(runnable, prompt, forward::Rows::kLast).status());
    best = std::max(best, static_cast<double>(tokens) / SecondsSince(begin));
  }
  return best;
}

absl::StatusOr<double> MeasureDecode(Runnable& runnable, int64_t sequences, int64_t depth, int64_t steps, int runs) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    DecodeBatch batch;
    for (int64_t i = 0; i < sequences; ++i) {
      const std::vector<int32_t> prompt = SomeTokens(depth, runnable.model->vocabulary_size(), i);
      ASSIGN_OR_RETURN(auto sequence, Prefilled(runnable, prompt, forward::Rows::kNone));
      batch.sequences.push_back(std::move(sequence));
      batch.tokens.push_back(prompt.back());
    }
    const Clock::time_point begin = Clock::now();
    for (int64_t step = 0; step < steps; ++step) RETURN_IF_ERROR(DecodeStep(runnable, batch));
    best = std::max(best, static_cast<double>(sequences * steps) / SecondsSince(begin));
  }
  return best;
}

double ShareOfPrefillLimit(const Workload& work, const MachineLimits& limits, int64_t tokens,
                           double tokens_per_second) {
  const auto n = static_cast<double>(tokens);
  const double limit = LimitSeconds(n * work.int8_ops_per_token + work.head_int8_ops,
                                    n * work.float_ops_per_token + work.head_float_ops, work.bytes_per_pass, limits);
  return limit / (n / tokens_per_second);
}

double ShareOfDecodeLimit(const Workload& work, const MachineLimits& limits, int64_t sequences,
                          double tokens_per_second) {
  const auto n = static_cast<double>(sequences);
  const double limit = LimitSeconds(n * (work.int8_ops_per_token + work.head_int8_ops),
                                    n * (work.float_ops_per_token + work.head_float_ops), work.bytes_per_pass, limits);
  return limit / (n / tokens_per_second);
}

}  // namespace inferd::tools
