#include "config/options.h"

#include <array>

#include "config/environment.h"

namespace inferd::config {
namespace {

using Visitor = OptionVisitor;

// Names in the order of the enumerators.
constexpr std::array<std::string_view, 2> kCacheTypes = {"f16", "q8_0"};
constexpr std::array<std::string_view, 3> kChatTemplates = {"file", "chatml", "llama2"};
constexpr std::array<std::string_view, 3> kSpeculationKinds = {"off", "ngram", "draft"};
constexpr std::array<std::string_view, 2> kOverflows = {"stop", "slide"};
constexpr std::array<std::string_view, 3> kFileChanges = {"reload", "refuse", "warn"};
constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 2> kLogFormats = {"json", "text"};

constexpr uint64_t kHourMs = 3'600'000;
constexpr uint64_t kDayMs = 24 * kHourMs;
constexpr uint64_t kGiB = uint64_t{1} << 30;

template <typename Enum>
void VisitChoice(Visitor& v, const Option& option, Enum& value, std::span<const std::string_view> names) {
  int index = static_cast<int>(value);
  v.Choice(option, index, names);
  value = static_cast<Enum>(index);
}

// The elements of `list`, each visited by `visit_element`.
template <typename Element>
class VectorSections : public SectionList {
 public:
  VectorSections(std::vector<Element>& list, void (*visit_element)(Element&, Visitor&))
      : list_(list), visit_element_(visit_element) {}
  size_t size() const override { return list_.size(); }
  void Append() override { list_.emplace_back(); }
  void Visit(size_t index, Visitor& visitor) override { visit_element_(list_[index], visitor); }

 private:
  std::vector<Element>& list_;
  void (*visit_element_)(Element&, Visitor&);
};

void VisitListen(ListenOptions& o, Visitor& v) {
  v.Place({"http", "OpenAI API, /health, /ready and /metrics."}, o.http);
  v.Place({"grpc", "gRPC service Inference of proto/inferd/v1, without TLS: beyond loopback only with auth.keys_file."},
          o.grpc);
  v.Place({"admin", "gRPC service Admin, a unix socket for its owner alone. Default: admin.sock in run_directory."},
          o.admin);
  v.Text({"admin_group", "Group whose members may use the admin socket, too (mode 0660 instead of 0600)."},
         o.admin_group);
  v.Place({"admin_tcp", "The same for other machines, with certificates on both sides (admin_tls). Not set: none."},
          o.admin_tcp);
}

void VisitAdminTls(AdminTlsOptions& o, Visitor& v) {
  v.Text({"certificate", "PEM file of the daemon's certificate."}, o.certificate);
  v.Text({"key", "PEM file of its key."}, o.key);
  v.Text({"client_ca", "PEM file of the certificate that has to have signed the clients'."}, o.client_ca);
}

void VisitSpeculation(SpeculationOptions& o, Visitor& v) {
  VisitChoice(v, {"kind", "ngram: what followed the last tokens earlier in the text; draft: a small model's."}, o.kind,
              kSpeculationKinds);
  v.Number({"max_tokens", "Guesses for one sequence in one step."}, o.max_tokens, {1, 64});
  v.Number({"max_batch",
            "With more sequences that generate, guessing stops; with fewer, where it costs more than it gives."},
           o.max_batch, {1, 64});
  v.Text({"draft_path", "For draft: GGUF file of a small model with the same tokenizer."}, o.draft_path);
}

void VisitModel(ModelOptions& o, Visitor& v) {
  v.Text({"name", "Name in requests: letters, digits and . _ - / : @ +"}, o.name, Presence::kRequired);
  v.Text({"path", "GGUF file; mapped read-only, never changed."}, o.path, Presence::kRequired);
  v.TextList({"aliases", "Other names of the model."}, o.aliases);
  v.Number({"context", "Longest sequence in tokens; 0: what the model was trained for."}, o.context, {0, 1u << 24});
  v.Section({"kv_cache", "Memory of the sequences."}, [&o](Visitor& kv) {
    kv.Bytes({"bytes", "Size of the pool that all sequences share."}, o.kv_cache.bytes, {1 << 20, 1024 * kGiB});
    VisitChoice(kv, {"type", "Type of its values."}, o.kv_cache.type, kCacheTypes);
    kv.Text({"save",
             "File in which the hottest beginnings of prompts outlive the worker (and its twin, with .2 after the "
             "name); it holds prompts. Empty: none."},
            o.kv_cache.save);
    kv.Bytes({"save_bytes", "Largest size of that file, and of its twin."}, o.kv_cache.save_bytes,
             {1 << 20, 1024 * kGiB});
  });
  v.Section({"batch", "What one step of the engine takes."}, [&o](Visitor& batch) {
    batch.Number({"max_sequences", "Sequences that generate at the same time."}, o.batch.max_sequences, {1, 4096});
    batch.Number({"prefill_tokens", "Prompt tokens taken beside them."}, o.batch.prefill_tokens, {1, 65536});
  });
  v.Number({"threads", "Threads that compute; 0: the cores this process may use."}, o.threads, {0, 1024});
  v.Section({"queue", "Requests that wait for a place."}, [&o](Visitor& queue) {
    queue.Number({"max_requests", "Requests that wait, each counted with its choices; more are refused with 429."},
                 o.queue.max_requests, {0, 1'000'000});
    queue.Number({"max_tokens", "Prompt tokens that wait, more are refused with 429; 0: any number."},
                 o.queue.max_tokens, {0, 1u << 30});
    queue.Duration({"max_wait", "A request that is expected to wait longer, or has, is refused with 429; 0: never."},
                   o.queue.max_wait, {0, kDayMs});
  });
  VisitChoice(v, {"chat_template", "The file's own, or a common one for files that have none or a wrong one."},
              o.chat_template, kChatTemplates);
  v.Text({"chat_template_file", "Template (Jinja) of your own, used instead of the model file's. Empty: none."},
         o.chat_template_file);
  v.Section({"engine", "How the model is computed."}, [&o](Visitor& engine) {
    engine.Flag(
        {"blas", "Prefill of F32, F16 and BF16 weights by OpenBLAS: the bits of an answer then depend on the batch."},
        o.engine.blas);
  });
  v.Section({"speculation", "Guessing of tokens that one pass then checks together. Answers stay the same."},
            [&o](Visitor& speculation) { VisitSpeculation(o.speculation, speculation); });
  VisitChoice(v, {"overflow", "At the context's end: stop, or slide (drop the older half, with max_tokens only)."},
              o.overflow, kOverflows);
  v.Number({"overflow_keep", "First tokens that sliding keeps, up to half of the context."}, o.overflow_keep,
           {0, 1u << 24});
  v.Text({"cpus", "Processors that its worker may use, e.g. 0-3,8; empty: those of the daemon."}, o.cpus);
  v.Number({"nice", "How far its worker stands back behind others."}, o.nice, {0, 19});
  v.Bytes({"memory_limit",
           "Most private memory of its worker (pool, scratch and stacks, not the file), which ends when it needs more. "
           "0: no limit."},
          o.memory_limit, {0, 1024 * 1024 * kGiB});
  v.Flag({"preload", "Loaded when the daemon starts; false: at the first request, which waits for it."}, o.preload);
  v.Duration({"idle_unload", "Unloaded after this time without a request, loaded again at the next; 0: never."},
             o.idle_unload, {0, 30 * kDayMs});
  v.Flag({"pinned", "Never unloaded to save memory."}, o.pinned);
  VisitChoice(
      v,
      {"on_file_change",
       "When its file is overwritten in place: reload it, refuse requests until an operator reloads it, or only "
       "warn in the log."},
      o.on_file_change, kFileChanges);
}

void VisitAuth(AuthOptions& o, Visitor& v) {
  v.Text({"keys_file", "YAML file of API keys. Empty: no key is asked for."}, o.keys_file);
  v.Number({"wrong_keys_per_minute",
            "Wrong keys that an address (of IPv6 a /64) may present; then it waits. 0: any number."},
           o.wrong_keys_per_minute, {0, 1'000'000});
  v.Flag({"ready_for_all", "Whether /ready names the models to those without a right key, too."}, o.ready_for_all);
  v.Flag({"metrics_for_all", "Whether a key that is limited to some models reads the metrics of all."},
         o.metrics_for_all);
}

void VisitHub(HubOptions& o, Visitor& v) {
  v.Text({"address", "Address of the hub, which speaks the paths of huggingface.co."}, o.address);
  v.Text({"token_file", "File with the access token. Empty: models that everyone may read."}, o.token_file);
}

void VisitLimits(LimitOptions& o, Visitor& v) {
  v.Bytes({"body", "Largest request body."}, o.body, {1024, kGiB});
  v.Bytes({"all_bodies",
           "Memory for bodies of all requests at a time, HTTP and gRPC together, and for parsing those of more than 64 "
           "KiB; what exceeds it gets 503."},
          o.all_bodies, {1024, 1024 * kGiB});
  v.Bytes({"header", "Largest request line and headers together."}, o.header, {1024, 64 << 10});
  v.Duration({"header_timeout", "Longest time for the headers of a request to arrive."}, o.header_timeout,
             {100, kHourMs});
  v.Duration({"body_timeout", "Longest time for the body of a request to arrive."}, o.body_timeout, {100, kHourMs});
  v.Duration({"idle_timeout", "A connection without a request is closed after this."}, o.idle_timeout, {100, kDayMs});
  v.Number({"connections", "Connections that may be open, HTTP and gRPC together."}, o.connections, {1, 1'000'000});
  v.Number({"requests_per_minute", "Per key, or per client address if no key is asked for; 0: any number."},
           o.requests_per_minute, {0, 1'000'000});
}

void VisitLog(LogOptions& o, Visitor& v) {
  VisitChoice(v, {"level", "Least severity that is logged."}, o.level, kLogLevels);
  VisitChoice(v, {"format", "json for machines, text for people."}, o.format, kLogFormats);
}

void VisitSupervisor(SupervisorOptions& o, Visitor& v) {
  v.Duration({"load_timeout", "Longest time from the start of a worker to its readiness."}, o.load_timeout,
             {1000, kDayMs});
  v.Duration({"watchdog", "A worker without progress for this long is killed and started again."}, o.watchdog,
             {500, kHourMs});
  v.Duration({"drain", "Time that running requests get at a stop or a swap."}, o.drain, {0, kDayMs});
  v.Duration({"load_wait", "Longest wait of a request for a model that is loaded because of it."}, o.load_wait,
             {0, kDayMs});
  v.Bytes(
      {"memory_budget",
       "What loaded models may take together (file, pool, scratch): the least recently used are unloaded for others. "
       "0: what the machine has."},
      o.memory_budget, {0, 1024 * 1024 * kGiB});
  v.Section({"restart", "What happens after a crash."}, [&o](Visitor& restart) {
    restart.Duration({"first_delay", "Wait before the first restart; doubles with each crash."}, o.restart.first_delay,
                     {1, kHourMs});
    restart.Duration({"max_delay", "Longest wait."}, o.restart.max_delay, {1, kDayMs});
    restart.Number({"max", "Restarts within the window before the model counts as FAILED."}, o.restart.max,
                   {0, 1'000'000});
    restart.Duration({"window", "Time over which restarts are counted."}, o.restart.window, {1000, kDayMs});
  });
}

}  // namespace

std::string_view NameOf(ChatTemplate choice) { return kChatTemplates[static_cast<size_t>(choice)]; }

void OptionVisitor::Flag(const Option& option, bool& value) {
  constexpr std::string_view kNames[] = {"false", "true"};
  int choice = value ? 1 : 0;
  Choice(option, choice, kNames);
  value = choice == 1;
}

void VisitOptions(Config& config, OptionVisitor& v) {
  v.Section({"listen", "Addresses: host:port with a numeric host, or unix:/path."},
            [&](Visitor& section) { VisitListen(config.listen, section); });
  v.Section({"admin_tls", "Certificates of listen.admin_tcp."},
            [&](Visitor& section) { VisitAdminTls(config.admin_tls, section); });
  v.Text({"run_directory", "Directory of the unix sockets; made with mode 0700 if missing."}, config.run_directory);
  VisitChoice(v, {"instruction_set", "Variant of the kernels; INFERD_ISA in the environment goes before it."},
              config.instruction_set, InstructionSetNames());
  v.Text(
      {"models_directory",
       "Folder whose .gguf files are models, too, each under its name and loaded at its first request. Empty: none."},
      config.models_directory);
  VectorSections<ModelOptions> models(config.models, VisitModel);
  v.Sections({"models", "What is served; [] for nothing until `inferctl load`."}, models,
             config.models_directory.empty() ? Presence::kRequired : Presence::kOptional);
  v.Section({"auth", "Who may ask."}, [&](Visitor& section) { VisitAuth(config.auth, section); });
  v.Section({"hub", "Where inferd-model pull finds models."}, [&](Visitor& section) { VisitHub(config.hub, section); });
  v.Section({"limits", "What a client may ask."}, [&](Visitor& section) { VisitLimits(config.limits, section); });
  v.Section({"log", "Lines on standard error."}, [&](Visitor& section) { VisitLog(config.log, section); });
  v.Section({"supervisor", "How processes are watched."},
            [&](Visitor& section) { VisitSupervisor(config.supervisor, section); });
}

}  // namespace inferd::config
