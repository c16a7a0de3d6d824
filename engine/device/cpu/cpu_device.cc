#include "engine/device/cpu/cpu_device.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/device/cache_layout.h"
#include "engine/device/cpu/attention.h"
#include "engine/device/cpu/cores.h"
#include "engine/device/cpu/experts.h"
#include "engine/device/cpu/feed_forward.h"
#include "engine/device/cpu/latent_attention.h"

namespace inferd::device {
namespace {

// "reference, avx2"
std::string RunnableVariants() {
  std::vector<std::string> names;
  for (const char* const* name = kernels::KernelVariants(); *name != nullptr; ++name) {
    if (kernels::SelectKernels(*name) != nullptr) names.emplace_back(*name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

absl::Status ResolveCpuOptions(CpuOptions& options) {
  if (options.threads == 0) options.threads = DefaultThreads();
  if (options.threads >= 1 && options.threads <= 1024) return absl::OkStatus();
  return InvalidArgument("threads: {}, expected 1..1024", options.threads);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CpuDevice::Create(std::shared_ptr<const model::Model> model,
                                                          DeviceOptions options, const CpuOptions& cpu) {
  const auto layers = static_cast<int32_t>(model->spec().layers.size());
  ASSIGN_OR_RETURN(std::unique_ptr<CpuDevice> device, Make(std::move(model), std::move(options), cpu, {0, layers}));
  ASSIGN_OR_RETURN(cache::CacheLayout layout, CacheLayoutOf(device->spec_, device->options_.cache.type));
  ASSIGN_OR_RETURN(device->cache_, cache::KvCache::Create(std::move(layout), device->options_.cache, device->memory_));
  return device;
}

absl::StatusOr<std::unique_ptr<Device>> CpuDevice::CreatePart(std::shared_ptr<const model::Model> model,
                                                              DeviceOptions options, const CpuOptions& cpu,
                                                              LayerRange layers) {
  return Make(std::move(model), std::move(options), cpu, layers);
}

absl::StatusOr<std::unique_ptr<CpuDevice>> CpuDevice::Make(std::shared_ptr<const model::Model> model,
                                                           DeviceOptions options, CpuOptions cpu, LayerRange layers) {
  RETURN_IF_ERROR(ResolveCpuOptions(cpu));
  RETURN_IF_ERROR(ResolveOptions(*model, options));
  const kernels::Kernels* k = kernels::SelectKernels(cpu.isa.empty() ? nullptr : cpu.isa.c_str());
  if (k == nullptr) {
    return InvalidArgument("instruction set \"{}\": not a kernel variant that this processor runs ({})", cpu.isa,
                           RunnableVariants());
  }
  ASSIGN_OR_RETURN(const cache::CacheLayout layout, CacheLayoutOf(model->spec(), options.cache.type));
  auto device =
      std::unique_ptr<CpuDevice>(new CpuDevice(std::move(model), std::move(options), cpu.threads, *k, layout, layers));
  device->AddBlocks();
  RETURN_IF_ERROR(device->Allocate());
  if (cpu.blas) RETURN_IF_ERROR(device->processor_.UseBlas());
  return device;
}

CpuDevice::CpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, int32_t threads,
                     const kernels::Kernels& k, const cache::CacheLayout& layout, LayerRange layers)
    : model_(std::move(model)),
      spec_(model_->spec()),
      weights_(model_->weights()),
      options_(std::move(options)),
      processor_(k, threads, weights_.linears),
      batch_(memory_, layout, layers, options_.max_batch_tokens),
      ropes_(processor_, spec_, options_.context_tokens),
      stream_(processor_, batch_, spec_) {}

template <typename Kind>
Kind* CpuDevice::Add() {
  auto block = std::make_unique<Kind>(BlockContext{spec_, weights_, options_, processor_, batch_, ropes_, stream_});
  Kind* const added = block.get();
  blocks_.push_back(std::move(block));
  return added;
}

// Null where no layer has it.
template <typename Kind>
Kind* CpuDevice::AddIfUsed() {
  return std::any_of(spec_.layers.begin(), spec_.layers.end(), &Kind::Has) ? Add<Kind>() : nullptr;
}

void CpuDevice::AddBlocks() {
  embedding_ = Add<Embedding>();
  head_ = Add<Head>();
  if (LayerInputs::Has(spec_)) layer_inputs_ = Add<LayerInputs>();
  if (FurtherStreams::Has(spec_)) further_streams_ = Add<FurtherStreams>();
  CHECK(further_streams_ == nullptr || layer_inputs_ != nullptr);  // they are corrected by both
  auto* const attention = AddIfUsed<Attention>();
  auto* const latent_attention = AddIfUsed<LatentAttention>();
  auto* const recurrent = AddIfUsed<RecurrentMixer>();
  auto* const dense = AddIfUsed<device::FeedForward>();
  auto* const experts = AddIfUsed<Experts>();
  for (const model::LayerSpec& layer : spec_.layers) {
    LayerBlocks& blocks = layers_.emplace_back();
    if (Attention::Has(layer)) blocks.attention = attention;
    if (LatentAttention::Has(layer)) blocks.attention = latent_attention;
    if (RecurrentMixer::Has(layer)) blocks.recurrent = recurrent;
    if (device::FeedForward::Has(layer)) blocks.network = dense;
    if (Experts::Has(layer)) blocks.network = experts;
  }
}

absl::Status CpuDevice::Allocate() {
  const int64_t rows = options_.max_batch_tokens;
  int64_t widest_row = 0;
  for (const std::unique_ptr<Block>& block : blocks_) widest_row = std::max(widest_row, block->widest_row());
  RETURN_IF_ERROR(processor_.Allocate(std::max(widest_row, spec_.width), rows));
  RETURN_IF_ERROR(ropes_.Allocate(rows));
  RETURN_IF_ERROR(stream_.Allocate(rows));
  ASSIGN_OR_RETURN(mixer_input_, processor_.TakeActivations(workspace_, rows, spec_.width));
  for (const std::unique_ptr<Block>& block : blocks_) RETURN_IF_ERROR(block->Allocate());
  return absl::OkStatus();
}

std::string CpuDevice::description() const {
  return fmt::format("cpu {}, {} threads", processor_.kernels().name, processor_.pool().threads());
}

void CpuDevice::Begin(const Batch& batch) {
  batch_.Begin(batch);
  ropes_.Fill(batch_);
}

void CpuDevice::Embed() {
  embedding_->Run();
  if (layer_inputs_ != nullptr) layer_inputs_->Project();
  if (further_streams_ != nullptr) further_streams_->Expand();
}

void CpuDevice::BeginLayer(int32_t layer) {
  if (further_streams_ != nullptr) further_streams_->Predict(layer);
}

// What all mixers of the layer read, and what its network reads before they change the stream.
void CpuDevice::PrepareMixer(int32_t layer) {
  const LayerBlocks& blocks = layers_[layer];
  mixer_input_.formats = Formats();
  if (blocks.attention != nullptr) mixer_input_.formats.Add(blocks.attention->InputFormats(layer));
  if (blocks.recurrent != nullptr) mixer_input_.formats.Add(blocks.recurrent->InputFormats(layer));
  if (further_streams_ != nullptr) mixer_input_.formats.Add(further_streams_->InputFormats(layer));
  mixer_input_.k = spec_.width;
  stream_.StoreNormed(weights_.layers[layer].before_mixer, mixer_input_);
  if (blocks.network != nullptr) blocks.network->BeforeMixer(layer);
}

void CpuDevice::ProjectQkv(int32_t layer) {
  PrepareMixer(layer);
  layers_[layer].attention->Project(layer, mixer_input_);
  if (further_streams_ != nullptr) further_streams_->RunLaurel(layer, mixer_input_);
}

void CpuDevice::ProjectAttention(int32_t layer) {
  layers_[layer].attention->Finish(layer);
  if (further_streams_ != nullptr) further_streams_->AddLaurel();
}

void CpuDevice::MixRecurrent(int32_t layer) {
  if (layers_[layer].attention == nullptr) PrepareMixer(layer);  // else it is prepared for both
  layers_[layer].recurrent->Run(layer, mixer_input_);
}

void CpuDevice::FinishLayer(int32_t layer) {
  if (further_streams_ != nullptr) {
    further_streams_->Correct(layer, *layer_inputs_);
    if (layer + 1 == static_cast<int32_t>(spec_.layers.size())) further_streams_->Merge();
  } else if (layer_inputs_ != nullptr) {
    layer_inputs_->Run(layer);
  }
  if (const float* const scale = weights_.layers[layer].output_scale) stream_.Scale(*scale);
}

absl::Status CpuDevice::Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) {
  head_->Project(linear, x, y);
  return absl::OkStatus();
}

// Between two layers, further streams have what the first one has, too.
int64_t CpuDevice::stream_floats() const {
  return further_streams_ != nullptr ? spec_.altup.streams * spec_.width : spec_.width;
}

absl::Status CpuDevice::ReadStream(std::span<float> stream) {
  const float* const from = further_streams_ != nullptr ? further_streams_->values() : stream_.Row(0);
  std::copy_n(from, stream.size(), stream.begin());
  return absl::OkStatus();
}

absl::Status CpuDevice::WriteStream(std::span<const float> stream) {
  std::copy(stream.begin(), stream.end(), further_streams_ != nullptr ? further_streams_->values() : stream_.Row(0));
  return absl::OkStatus();
}

}  // namespace inferd::device
