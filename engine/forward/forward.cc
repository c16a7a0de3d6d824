// The pass of every model, step by step. What a step does for a family is in the specification; how it is done is the
// device's business.
#include "engine/forward/forward.h"

#include <algorithm>
#include <vector>

#include "config/base/status.h"

namespace inferd::forward {
namespace {

using device::BatchSequence;
using device::Device;
using model::DecoderSpec;
using model::LayerSpec;

// The steps as one batch; owns what device::Batch views.
struct GatheredBatch {
  std::vector<int32_t> tokens;
  std::vector<BatchSequence> sequences;
  std::vector<device::PageTable> tables;  // [sequences][groups]
  std::vector<int32_t> wanted_rows;
  device::Batch view() const { return {tokens, sequences}; }
};

absl::Status CheckStep(const Device& device, const SequenceStep& step) {
  const DecoderSpec& spec = device.model().spec();
  const int64_t first = step.sequence->length(), end = first + static_cast<int64_t>(step.tokens.size());
  if (step.tokens.empty()) return InvalidArgument("step: no tokens");
  if (step.drafts > 0 && HasRecurrentState(spec)) return InvalidArgument("step: a recurrent state takes no guesses");
  if (end > device.options().context_tokens) {
    return InvalidArgument("step: position {} exceeds the context of {} tokens", end - 1,
                           device.options().context_tokens);
  }
  if (end > step.sequence->reserved()) {
    return FailedPrecondition("step: {} tokens needed, {} reserved", end, step.sequence->reserved());
  }
  if (spec.encoder && first != 0) return InvalidArgument("step: an encoder takes a whole text at once");
  for (int32_t token : step.tokens) {
    if (token < 0 || token >= spec.vocabulary_size) {
      return InvalidArgument("step: token {} is outside the vocabulary of {}", token, spec.vocabulary_size);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GatheredBatch> Gather(Device& device, std::span<const SequenceStep> steps) {
  GatheredBatch batch;
  const auto groups = static_cast<size_t>(device.cache().groups());
  batch.tables.reserve(steps.size() * groups);  // views into it stay
  for (const SequenceStep& step : steps) {
    RETURN_IF_ERROR(CheckStep(device, step));
    const auto row = static_cast<int64_t>(batch.tokens.size()), tokens = static_cast<int64_t>(step.tokens.size());
    for (size_t group = 0; group < groups; ++group) {
      const auto number = static_cast<int32_t>(group);
      batch.tables.push_back({step.sequence->pages(number), step.sequence->known_pages(number)});
    }
    batch.sequences.push_back({.number = step.sequence->number(),
                               .first_position = step.sequence->length(),
                               .row_begin = row,
                               .tokens = tokens,
                               .second_text = step.second_text,
                               .tables = std::span(batch.tables).last(groups),
                               .slot = step.sequence->slot()});
    batch.tokens.insert(batch.tokens.end(), step.tokens.begin(), step.tokens.end());
    const int64_t first_wanted = step.wanted == Rows::kAll    ? row
                                 : step.wanted == Rows::kLast ? row + tokens - 1
                                                              : row + tokens;
    for (int64_t i = first_wanted; i < row + tokens; ++i) batch.wanted_rows.push_back(static_cast<int32_t>(i));
  }
  const device::DeviceOptions& options = device.options();
  if (static_cast<int64_t>(batch.tokens.size()) > options.max_batch_tokens) {
    return InvalidArgument("batch: {} tokens, the device takes {}", batch.tokens.size(), options.max_batch_tokens);
  }
  if (static_cast<int64_t>(batch.wanted_rows.size()) > options.max_result_rows) {
    return InvalidArgument("batch: {} wanted rows, the device gives {}", batch.wanted_rows.size(),
                           options.max_result_rows);
  }
  return batch;
}

void RunLayers(Device& device) {
  const DecoderSpec& spec = device.model().spec();
  device.Embed();
  for (int32_t layer = 0; layer < static_cast<int32_t>(spec.layers.size()); ++layer) {
    const LayerSpec& s = spec.layers[layer];
    device.BeginLayer(layer);
    if (s.attention.heads > 0) {
      device.ProjectQkv(layer);
      device.Attend(layer);
      device.ProjectAttention(layer);
    }
    if (s.recurrent.kind != model::RecurrentKind::kNone) device.MixRecurrent(layer);
    if (s.feed_forward.width > 0 || s.feed_forward.experts.count > 0) device.FeedForward(layer);
    device.FinishLayer(layer);
  }
}

absl::StatusOr<ForwardResult> Run(Device& device, std::span<const SequenceStep> steps, bool logits) {
  ASSIGN_OR_RETURN(GatheredBatch batch, Gather(device, steps));
  if (steps.empty()) return ForwardResult(0, 0, {});
  device.Begin(batch.view());
  RunLayers(device);
  RETURN_IF_ERROR(device.End());
  ASSIGN_OR_RETURN(ForwardResult result, logits ? ForwardResult::OfLogits(device, std::move(batch.wanted_rows))
                                                : ForwardResult::OfHidden(device, batch.wanted_rows));
  for (const SequenceStep& step : steps) {
    device.cache().Commit(*step.sequence, step.tokens.first(step.tokens.size() - static_cast<size_t>(step.drafts)));
  }
  return result;
}

}  // namespace

absl::StatusOr<ForwardResult> ForwardResult::OfLogits(Device& device, std::vector<int32_t> wanted) {
  ForwardResult result(static_cast<int64_t>(wanted.size()), device.model().spec().vocabulary_size, {});
  result.device_ = &device;
  result.wanted_ = std::move(wanted);
  if (result.rows_ > 0) RETURN_IF_ERROR(result.Row(0).status());
  return result;
}

absl::StatusOr<ForwardResult> ForwardResult::OfHidden(Device& device, std::span<const int32_t> wanted) {
  ASSIGN_OR_RETURN(const std::span<float> values, device.Hidden(wanted));
  return ForwardResult(static_cast<int64_t>(wanted.size()), device.model().spec().width, values);
}

absl::StatusOr<std::span<float>> ForwardResult::Row(int64_t row) {
  CHECK(row >= first_ && row < rows_);
  const auto width = static_cast<size_t>(row_elements_);
  if (static_cast<size_t>(row - first_ + 1) * width > values_.size()) {
    CHECK(device_ != nullptr);
    const int64_t count = std::min(rows_ - row, device::kMostLogitsRows);
    ASSIGN_OR_RETURN(values_,
                     device_->Logits(std::span(wanted_).subspan(static_cast<size_t>(row), static_cast<size_t>(count))));
    first_ = row;
  }
  return values_.subspan(static_cast<size_t>(row - first_) * width, width);
}

absl::StatusOr<std::vector<float>> ForwardResult::Copy() {
  std::vector<float> out;
  out.reserve(static_cast<size_t>(rows_ * row_elements_));
  for (int64_t row = 0; row < rows_; ++row) {
    ASSIGN_OR_RETURN(const std::span<float> values, Row(row));
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

absl::StatusOr<ForwardResult> Forward(Device& device, std::span<const SequenceStep> steps) {
  if (!device.model().weights().head) {
    return FailedPrecondition("{}: an encoder has no logits", device.model().spec().architecture);
  }
  return Run(device, steps, /*logits=*/true);
}

absl::StatusOr<ForwardResult> ForwardHidden(Device& device, std::span<const SequenceStep> steps) {
  return Run(device, steps, /*logits=*/false);
}

}  // namespace inferd::forward
