#include "engine/device/gpu/gpu_device.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "engine/device/cache_layout.h"

namespace inferd::device {
namespace {

constexpr int64_t kMostHeadDimensions = 1024;  // as kernels/gpu/attention.h has room for

// What the layer has that GPUs do not run yet; empty: nothing.
std::string_view MissingOf(const model::LayerSpec& layer) {
  if (layer.recurrent.kind != model::RecurrentKind::kNone) return "a recurrent layer";
  if (layer.attention.latent.kv_rank > 0) return "latent attention";
  if (layer.feed_forward.experts.count > 0) return "experts";
  if (layer.feed_forward.sparsity > 0) return "a sparse feed-forward network";
  if (layer.feed_forward.xielu) return "the xIELU activation";
  if (std::max(layer.attention.k_dim, layer.attention.v_dim) > kMostHeadDimensions) {
    return "a head of more than 1024 dimensions";
  }
  return "";
}

absl::Status CheckRuns(const model::DecoderSpec& spec, LayerRange layers) {
  std::string_view missing = spec.altup.streams > 0       ? "several residual streams"
                             : spec.layer_input_width > 0 ? "inputs of each layer"
                                                          : "";
  for (int32_t layer = layers.begin; missing.empty() && layer < layers.end; ++layer) {
    missing = MissingOf(spec.layers[layer]);
  }
  if (missing.empty()) return absl::OkStatus();
  return InvalidArgument("model {}: {}, which does not run on GPUs yet", spec.architecture, missing);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> GpuDevice::Create(std::shared_ptr<const model::Model> model,
                                                          DeviceOptions options,
                                                          std::unique_ptr<kernels::gpu::GpuStream> stream) {
  const LayerRange all{0, static_cast<int32_t>(model->spec().layers.size())};
  ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device,
                   Make(std::move(model), std::move(options), std::move(stream), all));
  ASSIGN_OR_RETURN(cache::CacheLayout layout, CacheLayoutOf(device->spec_, device->options_.cache.type));
  ASSIGN_OR_RETURN(device->cache_, cache::KvCache::Create(std::move(layout), device->options_.cache, device->memory_));
  return device;
}

absl::StatusOr<std::unique_ptr<Device>> GpuDevice::CreatePart(std::shared_ptr<const model::Model> model,
                                                              DeviceOptions options,
                                                              std::unique_ptr<kernels::gpu::GpuStream> stream,
                                                              LayerRange layers) {
  return Make(std::move(model), std::move(options), std::move(stream), layers);
}

absl::StatusOr<std::unique_ptr<GpuDevice>> GpuDevice::Make(std::shared_ptr<const model::Model> model,
                                                           DeviceOptions options,
                                                           std::unique_ptr<kernels::gpu::GpuStream> stream,
                                                           LayerRange layers) {
  RETURN_IF_ERROR(ResolveOptions(*model, options));
  RETURN_IF_ERROR(CheckRuns(model->spec(), layers));
  ASSIGN_OR_RETURN(const cache::CacheLayout layout, CacheLayoutOf(model->spec(), options.cache.type));
  auto device = std::unique_ptr<GpuDevice>(
      new GpuDevice(std::move(model), std::move(options), std::move(stream), layout, layers));
  const absl::Status allocated = device->Allocate();
  RETURN_IF_ERROR(WaitFor(*device->gpu_));  // for what was uploaded
  RETURN_IF_ERROR(allocated);
  return device;
}

GpuDevice::GpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options,
                     std::unique_ptr<kernels::gpu::GpuStream> stream, const cache::CacheLayout& layout,
                     LayerRange layers)
    : model_(std::move(model)),
      spec_(model_->spec()),
      weights_(model_->weights()),
      options_(std::move(options)),
      host_(*kernels::SelectKernels(nullptr)),
      gpu_(std::move(stream)),
      math_(*gpu_, host_),
      memory_(*gpu_),
      batch_(*gpu_, spec_, options_, layout, layers),
      context_{spec_, weights_, options_, layers, *gpu_, math_, batch_},
      stream_(context_),
      attention_(context_, stream_),
      feed_forward_(context_, stream_),
      head_(context_, stream_) {}

// What still waits may use memory that is about to go.
GpuDevice::~GpuDevice() { gpu_->Wait(); }

absl::Status GpuDevice::Allocate() {
  RETURN_IF_ERROR(UploadEmbedding());
  for (int32_t layer = context_.layers.begin; layer < context_.layers.end; ++layer) RETURN_IF_ERROR(UploadNorms(layer));
  RETURN_IF_ERROR(stream_.Allocate());
  ASSIGN_OR_RETURN(normed_, math_.TakeFloats(options_.max_batch_tokens * spec_.width));
  RETURN_IF_ERROR(attention_.Allocate());
  RETURN_IF_ERROR(feed_forward_.Allocate());
  return head_.Allocate();
}

absl::Status GpuDevice::UploadEmbedding() {
  for (const model::Linear* table : {&weights_.embedding, &weights_.positions, &weights_.token_types}) {
    RETURN_IF_ERROR(math_.Upload(*table));
  }
  return math_.Upload(weights_.embedding_norm, spec_.width);
}

absl::Status GpuDevice::UploadNorms(int32_t layer) {
  const model::LayerWeights& w = weights_.layers[layer];
  for (const model::Norm* norm : {&w.before_mixer, &w.after_mixer, &w.after_mixer_sum, &w.before_feed_forward,
                                  &w.after_feed_forward, &w.after_feed_forward_sum}) {
    RETURN_IF_ERROR(math_.Upload(*norm, spec_.width));
  }
  return absl::OkStatus();
}

void GpuDevice::Begin(const Batch& batch) {
  status_ = WaitFor(*gpu_);  // a pass without results may still use what is about to change
  if (ok()) status_ = batch_.Begin(batch, memory_, host_);
}

void GpuDevice::EmbedRows(const model::Linear& table, const int32_t* ids, float* out) {
  const kernels::WeightMatrix& w = table.weights;
  gpu_->Embed(w.type, batch_.rows(),
              {.table = math_.Of(static_cast<const uint8_t*>(w.data)),
               .row_bytes = static_cast<int64_t>(w.row_bytes),
               .ids = ids,
               .k = spec_.width,
               .out = out});
}

void GpuDevice::Embed() {
  if (!ok()) return;
  const int64_t rows = batch_.rows(), n = rows * spec_.width;
  float *const x = stream_.x(), *const other = normed_.As<float>();
  EmbedRows(weights_.embedding, batch_.tokens(), x);
  if (spec_.embedding_scale != 1) gpu_->Scale(x, spec_.embedding_scale, n, x);
  if (weights_.token_types) {
    EmbedRows(weights_.token_types, batch_.token_types(), other);
    gpu_->Add(x, other, n, x);
  }
  if (weights_.positions) {
    EmbedRows(weights_.positions, batch_.positions(), other);
    gpu_->Add(x, other, n, x);
  }
  if (weights_.embedding_norm.present) math_.ApplyNorm(weights_.embedding_norm, rows, spec_.width, x, x);
}

void GpuDevice::ProjectQkv(int32_t layer) {
  if (!ok()) return;
  feed_forward_.BeforeMixer(layer);
  attention_.Project(layer, stream_.Norm(weights_.layers[layer].before_mixer, normed_.As<float>()));
}

void GpuDevice::Attend(int32_t layer) {
  if (ok()) attention_.Attend(layer);
}

void GpuDevice::ProjectAttention(int32_t layer) {
  if (ok()) attention_.Finish(layer);
}

void GpuDevice::FeedForward(int32_t layer) {
  if (ok()) feed_forward_.Run(layer);
}

void GpuDevice::FinishLayer(int32_t layer) {
  const float* const scale = weights_.layers[layer].output_scale;
  if (ok() && scale != nullptr) gpu_->Scale(stream_.x(), *scale, batch_.rows() * spec_.width, stream_.x());
}

absl::StatusOr<std::span<float>> GpuDevice::Hidden(std::span<const int32_t> rows) {
  RETURN_IF_ERROR(status_);
  return head_.Hidden(rows);
}
absl::StatusOr<std::span<float>> GpuDevice::Logits(std::span<const int32_t> rows) {
  RETURN_IF_ERROR(status_);
  return head_.Logits(rows);
}
absl::StatusOr<std::span<const kernels::TopEntry>> GpuDevice::TopK(std::span<const int32_t> rows, int32_t k) {
  RETURN_IF_ERROR(status_);
  return head_.TopK(rows, k);
}
absl::StatusOr<std::span<const float>> GpuDevice::LogSumExp(std::span<const int32_t> rows) {
  RETURN_IF_ERROR(status_);
  return head_.LogSumExp(rows, host_);
}

absl::Status GpuDevice::Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) {
  return head_.Project(linear, x, y);
}

absl::Status GpuDevice::ReadStream(std::span<float> stream) {
  RETURN_IF_ERROR(status_);
  gpu_->Copy(stream.data(), stream_.x(), stream.size_bytes());
  return WaitFor(*gpu_);
}

absl::Status GpuDevice::WriteStream(std::span<const float> stream) {
  RETURN_IF_ERROR(status_);
  gpu_->Copy(stream_.x(), stream.data(), stream.size_bytes());
  return WaitFor(*gpu_);
}

}  // namespace inferd::device
