#include "engine/tools/runnable.h"

#include <algorithm>

#include "config/base/status.h"
#include "config/environment.h"

namespace inferd::tools {
namespace {

constexpr uint64_t kStateBytes = 64 << 20;  // room for recurrent state and rounding

// K and V of `tokens` in whole pages of every layer, as 4-byte values: an upper bound for all cache types.
uint64_t CacheBytes(const model::DecoderSpec& spec, const RunnableOptions& options) {
  const int64_t pages = options.tokens / kernels::kPageTokens + 2;
  uint64_t values = 0;
  for (const model::LayerSpec& layer : spec.layers) {
    const model::AttentionSpec& attention = layer.attention;
    const int64_t latent = attention.latent.kv_rank > 0 ? 2 * (attention.latent.kv_rank + attention.k_dim) : 0;
    values += std::max(attention.kv_heads * (attention.k_dim + attention.v_dim), latent);
  }
  return values * pages * kernels::kPageTokens * sizeof(float) * options.sequences + kStateBytes * options.sequences;
}

}  // namespace

absl::StatusOr<std::string> ChosenIsa() {
  ASSIGN_OR_RETURN(const config::InstructionSet set, config::ChosenInstructionSet(config::InstructionSet::kAuto));
  return set == config::InstructionSet::kAuto ? "" : std::string(config::NameOf(set));
}

absl::StatusOr<Runnable> OpenRunnable(const std::string& path, const RunnableOptions& options) {
  ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(path));
  ASSIGN_OR_RETURN(auto model, model::Model::Load(file));
  return MakeRunnable(std::move(model), options);
}

absl::StatusOr<Runnable> MakeRunnable(std::shared_ptr<const model::Model> model, const RunnableOptions& options) {
  Runnable runnable{.model = std::move(model), .device = nullptr};
  const int64_t trained = runnable.model->context_length();
  if (trained > 0 && options.tokens > trained) {
    return InvalidArgument("{}: {} tokens asked for, but the model was trained for {}", runnable.model->file().path(),
                           options.tokens, trained);
  }
  ASSIGN_OR_RETURN(const std::string isa, ChosenIsa());
  runnable.threads = options.threads == 0 ? device::DefaultThreads() : options.threads;
  const device::DeviceOptions device{.context_tokens = options.tokens,
                                     .max_batch_tokens = options.batch_tokens,
                                     .max_result_rows = options.result_rows,
                                     .cache = {.bytes = CacheBytes(runnable.model->spec(), options),
                                               .type = options.cache_type,
                                               .max_sequences = options.sequences,
                                               .prefix_reuse = false}};
  const device::CpuOptions cpu{.threads = runnable.threads, .blas = options.blas, .isa = isa};
  ASSIGN_OR_RETURN(runnable.device, device::CreateDevice(runnable.model, device, {.cpu = cpu}));
  return runnable;
}

}  // namespace inferd::tools
