// Setting up: options, buffers, cache, and the batch of a pass.
#include "engine/device/cpu/cpu_device.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "config/base/status.h"
#include "engine/device/cache_layout.h"
#include "engine/device/recurrent_shape.h"

namespace inferd::device {
namespace {

using kernels::ActivationFormat;
using model::GateTensor;
using model::RecurrentKind;

constexpr int64_t kWriteTokens = 32;  // tokens whose K and V one item writes: whole lines of f16

// Slopes of linear attention biases (arXiv 2108.12409, section 3): a geometric sequence for the largest power of two of
// heads, and every other step of the next finer one for the rest.
std::vector<float> AlibiSlopes(int64_t heads, double max_bias) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const double exponent =
        head < power ? -max_bias / static_cast<double>(power) * static_cast<double>(head + 1)
                     : -max_bias / 2.0 / static_cast<double>(power) * static_cast<double>(2 * (head - power) + 1);
    slopes.push_back(static_cast<float>(kernels::exact::Pow(2.0, exponent)));
  }
  return slopes;
}

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
      std::unique_ptr<CpuDevice>(new CpuDevice(std::move(model), std::move(options), cpu.threads, *k, layers));
  device->group_of_ = GroupsOf(layout);
  device->groups_ = layout.groups.size();
  RETURN_IF_ERROR(device->Allocate());
  if (cpu.blas) RETURN_IF_ERROR(device->OpenBlas());
  return device;
}

CpuDevice::CpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, int32_t threads,
                     const kernels::Kernels& k, LayerRange layers)
    : model_(std::move(model)),
      spec_(model_->spec()),
      weights_(model_->weights()),
      options_(std::move(options)),
      layers_(layers),
      k_(k),
      pool_(threads),
      scratch_(threads),
      products_(k_, pool_, scratch_) {
  for (const model::RopeSpec& rope : spec_.ropes) ropes_.push_back(model::FrequenciesOf(rope, options_.context_tokens));
  for (const model::LayerSpec& layer : spec_.layers) {
    const bool biased = layer.attention.heads > 0 && layer.attention.alibi_max_bias > 0;
    alibi_slopes_.push_back(biased ? AlibiSlopes(layer.attention.heads, layer.attention.alibi_max_bias)
                                   : std::vector<float>());
  }
}

std::string CpuDevice::description() const { return fmt::format("cpu {}, {} threads", k_.name, pool_.threads()); }

kernels::PageShape CpuDevice::ShapeOf(int32_t layer) const {
  return PageShapeOf(spec_.layers[layer].attention, options_.cache.type);
}

CpuDevice::Widths CpuDevice::WidthsOf() const {
  Widths w;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::AttentionSpec& a = layer.attention;
    const model::RecurrentSpec& r = layer.recurrent;
    if (a.heads > 0) {
      const int64_t query = a.latent.nope_dim + a.latent.rope_dim;
      w.q = std::max({w.q, a.heads * a.k_dim * (a.gated_output ? 2 : 1), a.heads * query, a.latent.q_rank,
                      a.heads * a.v_dim, a.heads * a.latent.v_dim});
      w.k = std::max({w.k, a.kv_heads * a.k_dim, a.latent.kv_rank + a.latent.rope_dim});
      w.v = std::max({w.v, a.kv_heads * a.v_dim, a.heads * (a.latent.nope_dim + a.latent.v_dim)});
      w.gate = std::max({w.gate, a.heads * a.latent.v_dim, a.gate_tensor == GateTensor::kNone ? 0 : a.heads * a.v_dim});
    }
    if (r.kind != RecurrentKind::kNone) w.recurrent = std::max(w.recurrent, RecurrentWidth(r));
    w.gate = std::max({w.gate, layer.feed_forward.width, layer.feed_forward.experts.shared_width,
                       layer.feed_forward.experts.width * layer.feed_forward.experts.used});
  }
  w.gate = std::max({w.gate, spec_.layer_input_width, spec_.altup.rank, spec_.altup.streams > 0 ? spec_.width : 0});
  w.any = std::max({w.q, w.k, w.v, w.gate, w.recurrent, spec_.width, spec_.altup.streams * spec_.width,
                    spec_.layer_input_width * static_cast<int64_t>(spec_.layers.size())});
  return w;
}

absl::StatusOr<Activations> CpuDevice::AllocateActivations(int64_t rows, int64_t widest, Formats formats) {
  Activations activations;
  for (ActivationFormat format : Formats::kAll) {
    if (!formats.Has(format)) continue;
    const auto row_bytes = static_cast<int64_t>(k_.activation_row_bytes(format, RoundUp(widest, 256)));
    ASSIGN_OR_RETURN(activations.data[static_cast<size_t>(format)], workspace_.Take<uint8_t>(rows * row_bytes));
  }
  return activations;
}

absl::Status CpuDevice::AllocateScratch(const Widths& widths) {
  size_t matmul = 64, attention = 64;
  for (const kernels::WeightMatrix& matrix : weights_.linears) {
    matmul = std::max(matmul, k_.matmul_scratch_bytes(matrix.type, matrix.k));
  }
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const model::AttentionSpec& a = spec_.layers[i].attention;
    if (a.heads == 0) continue;
    const auto group = static_cast<int32_t>(a.heads / a.kv_heads);
    attention = std::max(attention, k_.attention_scratch_bytes(ShapeOf(static_cast<int32_t>(i)), group, kQueryTokens));
  }
  for (ThreadScratch& scratch : scratch_) {
    ASSIGN_OR_RETURN(scratch.matmul, workspace_.Take<uint8_t>(static_cast<int64_t>(matmul)));
    ASSIGN_OR_RETURN(scratch.attention, workspace_.Take<uint8_t>(static_cast<int64_t>(attention)));
    ASSIGN_OR_RETURN(scratch.row, workspace_.Take<float>(widths.any));
    ASSIGN_OR_RETURN(scratch.other_row, workspace_.Take<float>(widths.any));
    for (float** columns : {&scratch.columns, &scratch.other_columns}) {
      ASSIGN_OR_RETURN(*columns, workspace_.Take<float>(Products::MostOfItem(options_.max_batch_tokens)));
    }
  }
  return absl::OkStatus();
}

absl::Status CpuDevice::Allocate() {
  Formats formats;
  for (const kernels::WeightMatrix& matrix : weights_.linears) formats.Add(matrix.type);
  const Widths w = WidthsOf();
  const int64_t rows = options_.max_batch_tokens;
  const std::pair<float**, int64_t> buffers[] = {
      {&x_, spec_.width},
      {&q_, w.q},
      {&k_rows_, w.k},
      {&v_, w.v},
      {&attended_, w.q},
      {&gate_, w.gate},
      {&inner_rows_, w.gate},
      {&branch_, spec_.width},
      {&recurrent_, w.recurrent},
      {&layer_inputs_, spec_.layer_input_width * static_cast<int64_t>(spec_.layers.size())},
      {&streams_, spec_.altup.streams * spec_.width},
      {&laurel_, spec_.altup.streams > 0 ? spec_.width : 0}};
  for (auto [buffer, width] : buffers) {
    ASSIGN_OR_RETURN(*buffer, workspace_.Take<float>(rows * width));
  }
  ASSIGN_OR_RETURN(hidden_, workspace_.Take<float>(options_.max_result_rows * spec_.width));
  ASSIGN_OR_RETURN(logits_,
                   workspace_.Take<float>(std::min(options_.max_result_rows, kMostLogitsRows) * spec_.vocabulary_size));
  for (const model::RopeFrequencies& rope : ropes_) {
    ASSIGN_OR_RETURN(float* table, workspace_.Take<float>(rows * 2 * static_cast<int64_t>(rope.inverse.size())));
    rope_tables_.push_back(table);
  }
  ASSIGN_OR_RETURN(mixer_input_, AllocateActivations(std::max(rows, options_.max_result_rows), w.any, formats));
  ASSIGN_OR_RETURN(feed_forward_input_, AllocateActivations(rows, spec_.width, formats));
  ASSIGN_OR_RETURN(inner_, AllocateActivations(rows, w.any, formats));
  int64_t span_floats = 0;  // of one row and span
  for (const model::LayerSpec& layer : spec_.layers) {
    span_floats = std::max(span_floats, layer.attention.heads * kernels::SpanStateFloats(layer.attention.v_dim));
  }
  const int64_t spans = (options_.context_tokens + kernels::kSpanTokens - 1) / kernels::kSpanTokens;
  if (pool_.threads() > 1) {
    ASSIGN_OR_RETURN(span_states_, workspace_.Take<float>(kSpanRows * spans * span_floats));
  }
  RETURN_IF_ERROR(AllocateSlots(formats));
  RETURN_IF_ERROR(AllocateScratch(w));
  positions_.resize(rows);
  addresses_.resize(spec_.layers.size());
  return absl::OkStatus();
}

absl::Status CpuDevice::OpenBlas() {
  ASSIGN_OR_RETURN(const Blas blas, Blas::Open());
  int64_t longest = 0;
  for (const kernels::WeightMatrix& matrix : weights_.linears) {
    if (kernels::TraitsOf(matrix.type).activation == ActivationFormat::kFloat) longest = std::max(longest, matrix.k);
  }
  if (longest == 0) return absl::OkStatus();
  for (ThreadScratch& scratch : scratch_) {
    ASSIGN_OR_RETURN(scratch.blas, workspace_.Take<float>(Products::kBlasRows * longest));
  }
  products_.UseBlas(blas);
  return absl::OkStatus();
}

// Slots are rows of which each token has several: one for each chosen expert, or for each head of latent attention.
absl::Status CpuDevice::AllocateSlots(Formats formats) {
  int64_t slots = 0, experts_used = 0, experts = spec_.altup.streams, widest = 0;
  bool own_input = false;
  for (const model::LayerSpec& layer : spec_.layers) {
    const model::ExpertSpec& e = layer.feed_forward.experts;
    const model::AttentionSpec& a = layer.attention;
    own_input =
        own_input || e.input != model::ExpertInput::kFeedForward || e.router_input != model::RouterInput::kExperts;
    experts_used = std::max(experts_used, e.used);
    experts = std::max(experts, e.count);
    slots = std::max({slots, e.used, a.latent.kv_rank > 0 ? a.heads : 0});
    widest = std::max({widest, e.width, e.weigh_input ? spec_.width : 0, a.latent.nope_dim, a.latent.kv_rank});
  }
  const int64_t rows = options_.max_batch_tokens;
  router_logits_.resize(rows * experts);
  expert_begins_.reserve(experts + 1);
  expert_runs_.reserve(experts);
  if (slots == 0) return absl::OkStatus();
  if (own_input) {
    ASSIGN_OR_RETURN(expert_input_, AllocateActivations(rows, spec_.width, formats));
  }
  ASSIGN_OR_RETURN(slots_, AllocateActivations(rows * slots, widest, formats));
  ASSIGN_OR_RETURN(expert_out_, workspace_.Take<float>(rows * experts_used * spec_.width));
  expert_ids_.resize(rows * experts_used);
  expert_weights_.resize(rows * experts_used);
  sorted_rows_.resize(rows * slots);
  slot_places_.resize(rows * experts_used);
  all_slots_.resize(rows * experts_used);
  std::iota(all_slots_.begin(), all_slots_.end(), 0);
  return absl::OkStatus();
}

void CpuDevice::Begin(const Batch& batch) {
  batch_ = batch;
  rows_ = static_cast<int64_t>(batch.tokens.size());
  runs_.clear();
  for (const BatchSequence& sequence : batch_.sequences) {
    for (int64_t done = 0; done < sequence.tokens;) {
      const int64_t position = sequence.first_position + done;
      const int64_t tokens = std::min(sequence.tokens - done, kWriteTokens - position % kWriteTokens);
      runs_.push_back({&sequence, sequence.row_begin + done, tokens, position});
      for (int64_t i = 0; i < tokens; ++i) positions_[sequence.row_begin + done + i] = position + i;
      done += tokens;
    }
  }
  FindPages();
  for (size_t i = 0; i < ropes_.size(); ++i) {
    const auto pairs = static_cast<int64_t>(ropes_[i].inverse.size());
    ForRows(rows_, [&](int64_t row, int32_t) {
      k_.rope_table(positions_[row], ropes_[i].inverse.data(), pairs, ropes_[i].magnitude,
                    rope_tables_[i] + row * 2 * pairs);
    });
  }
}

// The kernels take addresses: those of all sequences' pages, one after the other, for each layer.
void CpuDevice::FindPages() {
  first_page_.clear();
  std::vector<int64_t> pages(groups_, 0);
  for (const BatchSequence& sequence : batch_.sequences) {
    for (size_t group = 0; group < groups_; ++group) {
      first_page_.push_back(pages[group]);
      pages[group] += static_cast<int64_t>(sequence.tables[group].pages.size());
    }
  }
  for (int32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    if (group_of_[layer] < 0) continue;
    const auto group = static_cast<size_t>(group_of_[layer]);
    std::vector<void*>& addresses = addresses_[layer];
    addresses.clear();
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int32_t page : sequence.tables[group].pages) {
        addresses.push_back(page < 0 ? nullptr : memory_.Page(page, layer));
      }
    }
  }
}

void* const* CpuDevice::PagesOf(int32_t layer, const BatchSequence& sequence) const {
  const auto index = static_cast<size_t>(&sequence - batch_.sequences.data());
  return addresses_[layer].data() + first_page_[index * groups_ + static_cast<size_t>(group_of_[layer])];
}

absl::Status CpuDevice::Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) {
  mixer_input_.formats = Formats::Of({&linear});
  mixer_input_.k = linear.weights.k;
  products_.Store(mixer_input_, 0, x.data());
  const Product product{&linear, y.data(), static_cast<int64_t>(y.size())};
  products_.Multiply(mixer_input_, 1, {&product, 1});
  return absl::OkStatus();
}

}  // namespace inferd::device
