#include "engine/device/gpu/gpu_feed_forward.h"

#include <algorithm>

namespace inferd::device {

absl::Status GpuFeedForward::Allocate() {
  int64_t width = 0;
  for (int32_t layer = c_.layers.begin; layer < c_.layers.end; ++layer) {
    width = std::max(width, c_.spec.layers[layer].feed_forward.width);
    RETURN_IF_ERROR(UploadLayer(layer));
  }
  const int64_t rows = c_.options.max_batch_tokens;
  ASSIGN_OR_RETURN(input_buffers_, c_.math.TakeInput(rows, c_.spec.width));
  ASSIGN_OR_RETURN(inner_buffers_, c_.math.TakeInput(rows, width));
  ASSIGN_OR_RETURN(normed_, c_.math.TakeFloats(rows * c_.spec.width));
  ASSIGN_OR_RETURN(gate_, c_.math.TakeFloats(rows * width));
  ASSIGN_OR_RETURN(up_, c_.math.TakeFloats(rows * width));
  return absl::OkStatus();
}

absl::Status GpuFeedForward::UploadLayer(int32_t layer) {
  const model::LayerWeights& w = c_.weights.layers[layer];
  const int64_t width = c_.spec.layers[layer].feed_forward.width;
  for (const model::Linear* linear : {&w.feed_forward.gate, &w.feed_forward.up, &w.feed_forward.down}) {
    RETURN_IF_ERROR(c_.math.Upload(*linear));
  }
  RETURN_IF_ERROR(c_.math.Upload(w.feed_forward.activation_divisor, width));
  return c_.math.Upload(w.inside_feed_forward, width);
}

void GpuFeedForward::BeforeMixer(int32_t layer) {
  if (c_.spec.parallel && c_.spec.layers[layer].feed_forward.width > 0) PrepareInput(layer);
}

void GpuFeedForward::PrepareInput(int32_t layer) {
  const model::LayerWeights& w = c_.weights.layers[layer];
  const bool shares = c_.spec.parallel && !w.before_feed_forward.present;
  auto* const normed = normed_.As<float>();
  const float* x = stream_.Norm(shares ? w.before_mixer : w.before_feed_forward, normed);
  if (c_.spec.parallel && x != normed) {  // the mixer changes the stream before this is read
    c_.gpu.Copy(normed, x, static_cast<size_t>(c_.batch.rows() * c_.spec.width) * sizeof(float));
    x = normed;
  }
  input_ = c_.math.Store(x, c_.batch.rows(), c_.spec.width, {&w.feed_forward.gate, &w.feed_forward.up}, input_buffers_);
}

void GpuFeedForward::Run(int32_t layer) {
  const model::LayerWeights& w = c_.weights.layers[layer];
  const model::FeedForwardSpec& f = c_.spec.layers[layer].feed_forward;
  const int64_t rows = c_.batch.rows();
  auto* const up = up_.As<float>();
  if (!c_.spec.parallel) PrepareInput(layer);
  const bool gated = static_cast<bool>(w.feed_forward.gate);
  if (gated) c_.math.Multiply(w.feed_forward.gate, input_, rows, gate_.As<float>());
  c_.math.Multiply(w.feed_forward.up, input_, rows, up);
  Activate(f, gated);
  if (const float* const divisor = w.feed_forward.activation_divisor) {
    c_.gpu.DivideRows(c_.math.Of(divisor), f.width, rows, up);
  }
  if (w.inside_feed_forward.present) c_.math.ApplyNorm(w.inside_feed_forward, rows, f.width, up, up);
  const Input inner = c_.math.Store(up, rows, f.width, {&w.feed_forward.down}, inner_buffers_);
  stream_.AddProduct(inner, w.feed_forward.down, w.after_feed_forward, w.after_feed_forward_sum);
}

// up = activation(gate) * up, in the family's way.
void GpuFeedForward::Activate(const model::FeedForwardSpec& f, bool gated) {
  auto *const gate = gate_.As<float>(), *const up = up_.As<float>();
  const int64_t n = c_.batch.rows() * f.width;
  if (gated && f.clamp > 0) c_.gpu.ClampPair(f.clamp, 1.0f, n, gate, up);
  if (!gated) {
    c_.gpu.Activate(f.activation, up, n, up);
  } else if (f.limit > 0) {
    c_.gpu.Activate(f.activation, gate, n, gate);
    c_.gpu.ClampPair(f.limit, 0.0f, n, gate, up);
    c_.gpu.MultiplyElements(gate, up, n, up);
  } else {
    c_.gpu.Gate(f.activation, gate, up, n, up);
  }
}

}  // namespace inferd::device
