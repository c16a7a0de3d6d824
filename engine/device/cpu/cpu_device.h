// Long because it declares the steps of all families, whose code lies in the files named below.
// The device that runs a model on the processors of this machine. The steps of a pass are spread over the .cc files
// beside this one: embedding_and_head.cc, attention.cc, latent_attention.cc, feed_forward.cc, experts.cc, recurrent.cc,
// streams.cc.
//
// Each step is one or two jobs of the thread pool. Work on single rows (norms, quantization, RoPE) of a small batch is
// done by the caller alone, which is faster than waking anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/host_page_memory.h"
#include "engine/device/cpu/cpu_options.h"
#include "engine/device/cpu/products.h"
#include "engine/device/cpu/thread_pool.h"
#include "engine/device/cpu/workspace.h"
#include "engine/device/device.h"
#include "engine/model/rope.h"
#include "kernels/kernels.h"

namespace inferd::device {

class CpuDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<Device>> Create(std::shared_ptr<const model::Model> model,
                                                        DeviceOptions options, const CpuOptions& cpu);
  // For a few layers of a SplitDevice: without a cache; the memory is created by who has it.
  static absl::StatusOr<std::unique_ptr<Device>> CreatePart(std::shared_ptr<const model::Model> model,
                                                            DeviceOptions options, const CpuOptions& cpu,
                                                            LayerRange layers);

  const model::Model& model() const override { return *model_; }
  const DeviceOptions& options() const override { return options_; }
  cache::KvCache& cache() override { return *cache_; }
  cache::PageMemory& memory() override { return memory_; }
  const kernels::Kernels& host_kernels() const override { return k_; }
  std::string description() const override;
  uint64_t progress() const override { return pool_.items_done(); }

  void Begin(const Batch& batch) override;
  void Embed() override;
  void BeginLayer(int32_t layer) override;
  void ProjectQkv(int32_t layer) override;
  void Attend(int32_t layer) override;
  void ProjectAttention(int32_t layer) override;
  void MixRecurrent(int32_t layer) override;
  void FeedForward(int32_t layer) override;
  void FinishLayer(int32_t layer) override;
  absl::Status End() override { return absl::OkStatus(); }  // all is done when a step returns
  absl::StatusOr<std::span<float>> Hidden(std::span<const int32_t> rows) override;
  absl::StatusOr<std::span<float>> Logits(std::span<const int32_t> rows) override;
  absl::StatusOr<std::span<const kernels::TopEntry>> TopK(std::span<const int32_t> rows, int32_t k) override;
  absl::StatusOr<std::span<const float>> LogSumExp(std::span<const int32_t> rows) override;
  absl::Status Project(const model::Linear& linear, std::span<const float> x, std::span<float> y) override;
  int64_t stream_floats() const override;
  absl::Status ReadStream(std::span<float> stream) override;
  absl::Status WriteStream(std::span<const float> stream) override;

 private:
  // Consecutive rows of one sequence whose tokens lie in one page.
  struct Run {
    const BatchSequence* sequence;
    int64_t row, tokens, position;
  };
  // Widest rows of all layers, in elements.
  struct Widths {
    int64_t q = 0, k = 0, v = 0, gate = 0, recurrent = 0, any = 0;
  };

  static constexpr int64_t kAlone = 2;         // rows that the caller handles alone
  static constexpr int64_t kQueryTokens = 32;  // queries of one attention item
  static constexpr int64_t kSpanRows = 8;      // rows of a batch whose keys are divided into spans

  CpuDevice(std::shared_ptr<const model::Model> model, DeviceOptions options, int32_t threads,
            const kernels::Kernels& k, LayerRange layers);
  static absl::StatusOr<std::unique_ptr<CpuDevice>> Make(std::shared_ptr<const model::Model> model,
                                                         DeviceOptions options, CpuOptions cpu, LayerRange layers);
  absl::Status Allocate();
  absl::Status AllocateScratch(const Widths& widths);
  absl::Status AllocateSlots(Formats formats);
  absl::Status OpenBlas();
  void FindPages();
  void* const* PagesOf(int32_t layer, const BatchSequence& sequence) const;  // of the layer's own K and V
  absl::StatusOr<Activations> AllocateActivations(int64_t rows, int64_t widest, Formats formats);
  Widths WidthsOf() const;
  kernels::PageShape ShapeOf(int32_t layer) const;

  // task(row, thread) for each row.
  template <typename Task>
  void ForRows(int64_t rows, Task task) {
    constexpr int64_t kTogether = 4;
    if (rows <= kAlone) {
      for (int64_t row = 0; row < rows; ++row) task(row, 0);
      return;
    }
    pool_.Run((rows + kTogether - 1) / kTogether, [&](int64_t item, int32_t thread) {
      const int64_t end = std::min(rows, (item + 1) * kTogether);
      for (int64_t row = item * kTogether; row < end; ++row) task(row, thread);
    });
  }
  // task(run, thread) for each run of the batch.
  template <typename Task>
  void ForRuns(Task task) {
    if (rows_ <= kAlone) {
      for (const Run& run : runs_) task(run, 0);
    } else {
      pool_.Run(static_cast<int64_t>(runs_.size()), [&](int64_t item, int32_t thread) { task(runs_[item], thread); });
    }
  }

  // ---- rows.cc
  void ApplyNorm(const model::Norm& norm, const float* x, int64_t n, float* out) const;
  // norm(x), in the formats that `out` has.
  void StoreRow(const model::Norm& norm, const float* x, int64_t row, const Activations& out, int32_t thread);
  void PrepareMixerInput(int32_t layer, Formats formats);
  void PrepareFeedForwardInput(int32_t layer);
  void AddToStream(const float* branch, int64_t n, float* x) const;
  // x += linear(inner_), through the branch's and the stream's norms: closes a mixer or a feed-forward network.
  void AddBranch(const model::Linear& linear, const model::Norm& on_branch, const model::Norm& on_sum);
  void AddBranchRows(const model::Norm& on_branch, const model::Norm& on_sum);

  // ---- attention.cc
  struct HeadGroup {
    int64_t kv_head, first, count;  // query heads first..first+count-1
  };
  void ApplyNormPerHead(const model::Norm& norm, model::QkNorm kind, int64_t heads, int64_t stride, int64_t dim,
                        float* x) const;
  void FinishQkvRow(int32_t layer, int64_t row, int64_t position);
  void GateRow(const model::AttentionSpec& a, float* gate, float* attended) const;
  static float TemperatureAt(const model::AttentionSpec& attention, int64_t position);  // factor of queries
  void WriteRun(int32_t layer, const Run& run, const float* k, int64_t k_stride, const float* v, int64_t v_stride);
  bool AttendInSpans(int32_t layer);
  kernels::AttentionArguments ArgumentsOf(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads,
                                          int64_t first, int64_t tokens, int32_t thread) const;
  void AttendTokens(int32_t layer, const BatchSequence& sequence, const HeadGroup& heads, int64_t first, int64_t tokens,
                    int32_t thread);

  // ---- latent_attention.cc
  void ProjectLatent(int32_t layer);
  void MultiplyHeads(const model::Linear& linear, int64_t heads, int64_t rows, float* out, int64_t head_stride);
  void TurnLatentRow(const model::AttentionSpec& a, const model::AttentionWeights& w, int64_t row);
  void AbsorbQueries(const model::AttentionSpec& a, const model::AttentionWeights& w);
  void DecompressKeys(const model::AttentionSpec& a, const model::AttentionWeights& w);
  void DecompressLatent(int32_t layer);

  // ---- feed_forward.cc
  void DenseFeedForward(int32_t layer);
  struct GatedPair {
    const model::Linear *gate, *up;  // gate absent: no gate
    const Activations* input;
    const int32_t* input_rows;  // as MatmulArguments::activation_rows
    int64_t tokens;
    float* out;  // [tokens], stride apart
    int64_t stride;
    float limit;  // FeedForwardSpec::limit or that of the experts
  };
  void GateAndUp(const model::FeedForwardSpec& spec, const GatedPair& pair, int64_t begin, int64_t end, int32_t thread);
  void SparseFeedForward(int32_t layer);
  void RunGatedPair(const model::FeedForwardSpec& spec, const GatedPair& pair);

  // ---- experts.cc
  void ExpertFeedForward(int32_t layer);
  // What the experts or the router read where that is not the feed-forward network's input; before the mixer or after.
  void PrepareExpertInput(int32_t layer);
  void RouteBeforeMixer(int32_t layer);
  void RouteScaled(int32_t layer);
  void RouteRows(int32_t layer, const Activations& read);
  const Activations& ExpertInputOf(const model::ExpertSpec& experts) const;
  void SortByExpert(const model::ExpertSpec& experts);
  void RunExperts(int32_t layer);
  void StoreWeighedInputs(int32_t layer);
  void CombineExperts(int32_t layer);
  void AddSharedExpert(int32_t layer);

  // ---- streams.cc
  void ProjectLayerInputs();                                  // layer_inputs_ of all layers
  void LayerInputBranch(int32_t layer, const float* source);  // inner_ from source [rows][n_embd] and layer_inputs_
  void ExpandStreams();
  void PredictStreams(int32_t layer);
  void CorrectStreams(int32_t layer);
  void MergeStreams();
  void RunLaurel(int32_t layer);
  void AddLaurel();
  void StreamModalities(int32_t layer);  // router_logits_ [rows][streams]

  // ---- recurrent.cc
  float* StateOf(const BatchSequence& sequence, int32_t layer) const;
  template <typename Task>
  void ForSequenceParts(int64_t parts, Task task);
  void Convolve(int32_t layer, int64_t channels, const float* x, int64_t x_stride, bool silu, float* out);
  void MixShortConvolution(int32_t layer);
  void MixMamba(int32_t layer);
  void MixMamba2(int32_t layer);
  void MixDeltaNet(int32_t layer);

  const std::shared_ptr<const model::Model> model_;
  const model::DecoderSpec& spec_;
  const model::ModelWeights& weights_;
  DeviceOptions options_;
  const LayerRange layers_;
  const kernels::Kernels& k_;
  ThreadPool pool_;
  std::vector<ThreadScratch> scratch_;
  Products products_;
  Workspace workspace_;
  cache::HostPageMemory memory_;
  std::unique_ptr<cache::KvCache> cache_;  // null for a part
  std::vector<int32_t> group_of_;          // [layers] of pages; -1: none
  size_t groups_ = 0;
  std::vector<model::RopeFrequencies> ropes_;
  std::vector<std::vector<float>> alibi_slopes_;  // [layers][heads], empty without

  // The batch and its buffers, all [rows] of the width named.
  Batch batch_;
  std::vector<Run> runs_;
  std::vector<std::vector<void*>> addresses_;  // [layers] of all sequences' pages
  std::vector<int64_t> first_page_;            // [sequences][groups] of a sequence among them
  std::vector<int64_t> positions_;             // [rows]
  int64_t rows_ = 0;
  float* x_ = nullptr;  // residual stream
  float *q_ = nullptr, *k_rows_ = nullptr, *v_ = nullptr, *attended_ = nullptr;
  float *gate_ = nullptr, *inner_rows_ = nullptr, *branch_ = nullptr, *recurrent_ = nullptr;
  float *hidden_ = nullptr, *logits_ = nullptr;
  std::vector<kernels::TopEntry> top_;
  std::vector<float> log_sums_;
  // Attention in spans: a few heads of a sequence, and each span of their keys.
  struct SpanPart {
    const BatchSequence* sequence;
    HeadGroup heads;
    int64_t spans;
    float* states;  // [spans][tokens][heads][SpanStateFloats]
  };
  struct SpanItem {
    size_t part;
    int64_t span;
    float* state;
  };
  std::vector<SpanPart> span_parts_;
  std::vector<SpanItem> span_items_;
  float* span_states_ = nullptr;
  std::vector<float*> rope_tables_;  // [ropes] of [rows][2][pairs]
  Activations mixer_input_, feed_forward_input_, inner_;
  float* layer_inputs_ = nullptr;                 // [layers * layer_input_width]
  float *streams_ = nullptr, *laurel_ = nullptr;  // [streams][n_embd], [n_embd]

  // Experts: `used` slots a row, sorted by expert.
  struct ExpertRun {
    int32_t expert;
    int64_t begin, end;  // in sorted order
  };
  std::vector<ExpertRun> expert_runs_;
  std::vector<int64_t> expert_begins_;  // [experts + 1] in sorted order
  std::vector<int32_t> expert_ids_, sorted_rows_, slot_places_, all_slots_;
  std::vector<float> expert_weights_, router_logits_;
  float* expert_out_ = nullptr;  // [slots][width]
  Activations expert_input_;     // [rows], allocated where a layer needs it
  Activations slots_;            // [rows * slots of a row]
};

}  // namespace inferd::device
