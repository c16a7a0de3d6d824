// Loading and verifying in order: file, model, tokenizer, template, device, engine.
#include "worker/loaded_model.h"

#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>
#include <map>

#include "config/base/log.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "config/options.h"
#include "engine/cache/sip_hash.h"
#include "engine/device/factory/device_factory.h"
#include "engine/generation/refusal.h"
#include "engine/model_variables.h"
#include "engine/self_test.h"
#include "worker/generation_request.h"
#include "worker/template_source.h"

namespace inferd::worker {
namespace {

constexpr std::chrono::seconds kLongestPrefixLoad(1);  // a bigger file is loaded in part

std::string Hex(uint64_t value) { return fmt::format("{:016x}", value); }

kernels::CacheType CacheTypeOf(config::CacheType type) {
  return type == config::CacheType::kQ8_0 ? kernels::CacheType::kQ8_0 : kernels::CacheType::kF16;
}

engine::Guessing GuessingOf(config::SpeculationKind kind) {
  switch (kind) {
    case config::SpeculationKind::kOff:
      return engine::Guessing::kOff;
    case config::SpeculationKind::kNgram:
      return engine::Guessing::kNgram;
    case config::SpeculationKind::kDraft:
      return engine::Guessing::kDraft;
  }
  return engine::Guessing::kOff;
}

engine::EngineOptions EngineOptionsOf(const config::ModelOptions& options) {
  return {.max_sequences = options.batch.max_sequences,
          .prefill_tokens = options.batch.prefill_tokens,
          .queue = {.max_requests = options.queue.max_requests,
                    .max_tokens = static_cast<int64_t>(options.queue.max_tokens),
                    .max_wait_seconds = std::chrono::duration<double>(options.queue.max_wait).count()},
          .guessing = GuessingOf(options.speculation.kind),
          .speculation = {.max_tokens = options.speculation.max_tokens, .max_batch = options.speculation.max_batch}};
}

device::DeviceOptions DeviceOptionsOf(const config::ModelOptions& options, const model::Model& model) {
  const int64_t trained = model.context_length();
  device::DeviceOptions device{
      .context_tokens = options.context == 0 ? trained : std::min<int64_t>(options.context, trained),
      .cache = {.bytes = options.kv_cache.bytes, .type = CacheTypeOf(options.kv_cache.type)}};
  engine::SizeDevice(EngineOptionsOf(options), model.spec(), device);
  return device;
}

// Which option an error about the draft model is about.
absl::Status DraftError(const config::ModelOptions& options, const absl::Status& status) {
  constexpr std::string_view kPool = "kv_cache.bytes";
  const std::string& path = options.speculation.draft_path;
  if (FieldOf(status) != kPool) return AtField("speculation.draft_path", Annotate(status, path));
  return AtField(kPool,
                 Annotate(WithField(status, ""), fmt::format("the draft model {} gets 1/{} of {}", path,
                                                             config::kDraftPoolDivisor, options.kv_cache.bytes)));
}

absl::StatusOr<std::unique_ptr<device::Device>> LoadDraft(LoadedModel& loaded, const std::string& isa) {
  const config::ModelOptions& options = loaded.options;
  ASSIGN_OR_RETURN(const std::shared_ptr<const gguf::GgufFile> file,
                   gguf::GgufFile::Open(options.speculation.draft_path));
  ASSIGN_OR_RETURN(const std::shared_ptr<const model::Model> model, model::Model::Load(file));
  ASSIGN_OR_RETURN(const std::unique_ptr<tokenizer::Tokenizer> tokenizer, tokenizer::Tokenizer::Create(*file));
  if (tokenizer->fingerprint() != loaded.tokenizer->fingerprint()) {
    return InvalidArgument("its tokenizer ({} tokens) is not that of {} ({} tokens), expected the same",
                           tokenizer->vocabulary_size(), options.path, loaded.tokenizer->vocabulary_size());
  }
  if (model->spec().encoder) return InvalidArgument("{} generates nothing", model->spec().architecture);
  std::error_code error;
  if (!std::filesystem::equivalent(options.path, options.speculation.draft_path, error)) {
    loaded.draft_file_bytes = file->size_bytes();
  }
  device::DeviceOptions device{
      .context_tokens =
          std::min<int64_t>(options.context == 0 ? model->context_length() : options.context, model->context_length()),
      .cache = {.bytes = options.kv_cache.bytes / config::kDraftPoolDivisor,
                .type = CacheTypeOf(options.kv_cache.type)}};
  engine::SizeDraftDevice(EngineOptionsOf(options), device);
  return device::CreateDevice(model, device, {.cpu = {.threads = static_cast<int32_t>(options.threads), .isa = isa}});
}

absl::Status LoadTemplate(LoadedModel& loaded) {
  ASSIGN_OR_RETURN(loaded.rank_template, loaded.file->GetStringOr("tokenizer.chat_template.rerank", ""));
  ASSIGN_OR_RETURN(const TemplateSource source, FindTemplate(loaded.options, *loaded.file));
  if (source.text.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<chat_template::ChatTemplate>> parsed = chat_template::ChatTemplate::Parse(source.text);
  if (!parsed.ok()) return AtField(source.option, Annotate(parsed.status(), source.name));
  loaded.chat_template = *std::move(parsed);
  loaded.answer_format = output::RecognizeFormat(source.text);
  absl::StatusOr<conversation::Abilities> abilities =
      conversation::ProbeAbilities(*loaded.chat_template, engine::ModelVariables(*loaded.tokenizer));
  if (!abilities.ok()) return AtField(source.option, Annotate(abilities.status(), source.name));
  loaded.abilities = *std::move(abilities);
  // Of some forms the template knows how calls were written, and never tells the model of functions.
  if (loaded.answer_format.calls != nullptr && !loaded.abilities.tools) {
    loaded.answer_format.calls = &output::GenericCalls();
  }
  if (!loaded.options.chat_template_file.empty()) {
    loaded.template_digest =
        cache::SipHash({0, 0}, {reinterpret_cast<const uint8_t*>(source.text.data()), source.text.size()});
  }
  return absl::OkStatus();
}

// Some bytes of each tensor: another training changes them all.
uint64_t SampleOfWeights(const gguf::GgufFile& file) {
  constexpr uint64_t kSampleBytes = 64;
  uint64_t hash = file.size_bytes();
  for (const gguf::Tensor& tensor : file.tensors()) {
    const uint64_t size = std::min(tensor.bytes, kSampleBytes);
    for (const uint64_t offset : {uint64_t{0}, (tensor.bytes - size) / 2, tensor.bytes - size}) {
      hash = cache::SipHash({hash, offset}, {tensor.data + offset, size});
    }
  }
  return hash;
}

void LoadPrefixes(const LoadedModel& loaded, PrefixStore& prefixes, cache::KvCache& cache) {
  const Clock& clock = Clock::System();
  const MonotonicTime begin = clock.Now();
  const absl::StatusOr<cache::SavedPrefixes> found =
      prefixes.Load(cache, loaded.cache_identity(), begin + kLongestPrefixLoad);
  if (!found.ok()) {
    LogWarning("saved prefixes ignored", {{"model", loaded.options.name}, {"reason", MessageOf(found.status())}});
  } else if (found->pages > 0) {
    LogInfo("saved prefixes loaded", {{"model", loaded.options.name},
                                      {"tokens", found->tokens},
                                      {"bytes", found->bytes},
                                      {"seconds", std::chrono::duration<double>(clock.Now() - begin).count()}});
  }
}

void LogWarnings(const LoadedModel& loaded) {
  for (const std::vector<std::string>* warnings : {&loaded.model->warnings(), &loaded.tokenizer->warnings()}) {
    for (const std::string& warning : *warnings) {
      LogWarning("odd model file",
                 {{"model", loaded.options.name}, {"path", loaded.options.path}, {"reason", warning}});
    }
  }
  const int64_t trained = loaded.model->context_length();
  if (loaded.options.context > trained) {
    LogInfo("context cut to the model's", {{"model", loaded.options.name}, {"context", trained}});
  }
}

int64_t FileTime(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mtim.tv_sec : 0;
}

absl::Status CheckTexts(LoadedModel& loaded) {
  RETURN_IF_ERROR(engine::CheckTokenizer(*loaded.tokenizer, loaded.model->vocabulary_size()));
  return LoadTemplate(loaded);
}

// Files and devices, before anything is computed.
struct OpenedModel {
  std::unique_ptr<LoadedModel> loaded;  // without its engine
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::Device> draft;  // or null
};

absl::StatusOr<OpenedModel> OpenModel(const config::ModelOptions& options, const std::string& isa, uint64_t version) {
  OpenedModel opened{.loaded = std::make_unique<LoadedModel>()};
  LoadedModel& loaded = *opened.loaded;
  loaded.options = options;
  loaded.version = version;
  loaded.file_time_unix_seconds = FileTime(options.path);
  loaded.loaded_unix_seconds = std::chrono::system_clock::to_time_t(Clock::System().WallNow());
  ASSIGN_OR_RETURN(loaded.file, gguf::GgufFile::Open(options.path));
  ASSIGN_OR_RETURN(loaded.model, model::Model::Load(loaded.file));
  ASSIGN_OR_RETURN(loaded.tokenizer, tokenizer::Tokenizer::Create(*loaded.file));
  // A limit that the file's texts pass is the file's fault and not a lack of memory.
  RETURN_IF_ERROR(engine::ToPermanent(CheckTexts(loaded)));
  const device::CpuOptions cpu{
      .threads = static_cast<int32_t>(options.threads), .blas = options.engine.blas, .isa = isa};
  ASSIGN_OR_RETURN(opened.device,
                   device::CreateDevice(loaded.model, DeviceOptionsOf(options, *loaded.model), {.cpu = cpu}));
  if (options.speculation.kind == config::SpeculationKind::kDraft) {
    absl::StatusOr<std::unique_ptr<device::Device>> draft = LoadDraft(loaded, isa);
    if (!draft.ok()) return DraftError(options, draft.status());
    opened.draft = *std::move(draft);
  }
  return opened;
}

absl::StatusOr<std::unique_ptr<LoadedModel>> StartEngine(OpenedModel opened, const scheduler::Rates& rates) {
  LoadedModel& loaded = *opened.loaded;
  const config::ModelOptions& options = loaded.options;
  engine::Vocabulary vocabulary = engine::VocabularyOf(*loaded.tokenizer, loaded.model->vocabulary_size());
  engine::EngineOptions engine_options = EngineOptionsOf(options);
  engine_options.rates = rates;
  ASSIGN_OR_RETURN(loaded.engine, engine::Engine::Create(std::move(opened.device), std::move(vocabulary),
                                                         engine_options, Clock::System(), std::move(opened.draft)));
  if (loaded.can_generate()) RETURN_IF_ERROR(engine::Validate(OverflowOf(options), loaded.engine->limits()));
  return std::move(opened.loaded);
}

}  // namespace

// Of all that decides an answer's bits: the file, and the options that change them.
std::string LoadedModel::fingerprint() const {
  uint64_t mixed = model->fingerprint();
  for (const uint64_t part :
       {static_cast<uint64_t>(options.kv_cache.type), static_cast<uint64_t>(options.chat_template),
        static_cast<uint64_t>(options.context), uint64_t{options.engine.blas}}) {
    mixed = (mixed ^ part) * 0x100000001B3u;  // FNV-1a
  }
  if (options.overflow == config::Overflow::kSlide) mixed = (mixed ^ (options.overflow_keep + 1)) * 0x100000001B3u;
  if (!options.chat_template_file.empty()) mixed = (mixed ^ template_digest) * 0x100000001B3u;
  return "fp_" + Hex(mixed);
}
std::string LoadedModel::cache_identity() const {
  return fmt::format("inferd {}, {}, weights {} of {}", kVersion, fingerprint(), Hex(SampleOfWeights(*file)),
                     file_time_unix_seconds);
}
std::string LoadedModel::tokenizer_fingerprint() const { return "fp_" + Hex(tokenizer->fingerprint()); }

std::string QuantizationOf(const gguf::GgufFile& file) {
  std::map<std::string_view, uint64_t> bytes;
  for (const gguf::Tensor& tensor : file.tensors()) bytes[kernels::TraitsOf(tensor.type).name] += tensor.bytes;
  std::string_view most;
  for (const auto& [name, sum] : bytes) {
    if (most.empty() || sum > bytes[most]) most = name;
  }
  return std::string(most);
}

absl::Status CheckModel(const config::ModelOptions& options, const std::string& isa) {
  ASSIGN_OR_RETURN(OpenedModel opened, OpenModel(options, isa, /*version=*/0));
  return StartEngine(std::move(opened), scheduler::Rates()).status();
}

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadModel(const config::ModelOptions& options, const std::string& isa,
                                                       uint64_t version, PrefixStore* prefixes) {
  ASSIGN_OR_RETURN(OpenedModel opened, OpenModel(options, isa, version));
  LogWarnings(*opened.loaded);
  ASSIGN_OR_RETURN(const scheduler::PassTimes times, engine::CheckForward(*opened.device));
  if (prefixes != nullptr) LoadPrefixes(*opened.loaded, *prefixes, opened.device->cache());
  return StartEngine(std::move(opened), scheduler::Rates::OfPasses(times));
}

}  // namespace inferd::worker
