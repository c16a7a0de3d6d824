// The effective configuration: one struct a section of the YAML file, its members named as the keys are.
// The default of each option is the initializer here; options.cc has its range and help; load.h reads the file.
//
//   ASSIGN_OR_RETURN(const Config config, LoadConfig("/etc/inferd/inferd.yaml"));
//   const ModelOptions* model = config.FindModel("chat");
//   Listen(config.listen.http);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/address.h"
#include "config/base/clock.h"
#include "config/base/log.h"

namespace inferd::config {

struct ListenOptions {
  Address http{.host = "127.0.0.1", .port = 8080};
  Address grpc{.host = "127.0.0.1", .port = 8090};
  // Not set in the file: admin.sock in the run directory.
  Address admin;
  // Group that may use the admin socket, too; empty: none.
  std::string admin_group;
  // The same service for other machines, with certificates on both sides; not set: none.
  Address admin_tcp;
};

// PEM files; for listen.admin_tcp.
struct AdminTlsOptions {
  std::string certificate;
  std::string key;
  // Clients need a certificate that this one signed.
  std::string client_ca;
};

enum class CacheType { kF16, kQ8_0 };

struct KvCacheOptions {
  uint64_t bytes = uint64_t{512} << 20;
  CacheType type = CacheType::kF16;
  // File that keeps the prefix cache over restarts; empty: none.
  std::string save;
  // Of that file; there are two of them.
  uint64_t save_bytes = uint64_t{256} << 20;
};

struct BatchOptions {
  uint32_t max_sequences = 32;
  uint32_t prefill_tokens = 256;
};

struct QueueOptions {
  uint32_t max_requests = 256;
  // 0: any number.
  uint32_t max_tokens = 0;
  Milliseconds max_wait{30'000};
};

// kNgram: guesses from the text so far; kDraft: from a small model.
enum class SpeculationKind { kOff, kNgram, kDraft };

// The draft model's KV pool has this part of `kv_cache.bytes`, beside the model's.
constexpr uint64_t kDraftPoolDivisor = 8;

struct SpeculationOptions {
  SpeculationKind kind = SpeculationKind::kOff;
  // Guesses for one sequence in one step.
  uint32_t max_tokens = 8;
  // With more sequences that generate, guessing stops; with fewer, where it costs more than it gives.
  uint32_t max_batch = 4;
  std::string draft_path;
};

// What happens at the end of the context.
enum class Overflow { kStop, kSlide };

// kFile: the model file's own; the others replace it.
enum class ChatTemplate { kFile, kChatMl, kLlama2 };

struct EngineOptions {
  // Prefill of float weights by OpenBLAS; the answers' bits then depend on the batch.
  bool blas = false;
};

// What happens when a model's file is overwritten in place, under the worker that has mapped it. kReload: the new file
// takes its place, or the model stops serving if it cannot; kRefuse: it stops serving; kWarn: the log tells.
enum class FileChange { kReload, kRefuse, kWarn };

struct ModelOptions {
  std::string name;
  std::string path;
  std::vector<std::string> aliases;
  // Tokens of one sequence; 0: as many as the file was trained for.
  uint32_t context = 8192;
  KvCacheOptions kv_cache;
  BatchOptions batch;
  uint32_t threads = 0;  // 0: the cores that the process may use
  QueueOptions queue;
  ChatTemplate chat_template = ChatTemplate::kFile;
  std::string chat_template_file;  // an operator's template (Jinja) instead; empty: none
  EngineOptions engine;
  SpeculationOptions speculation;
  Overflow overflow = Overflow::kStop;
  // Tokens at the beginning that sliding keeps.
  uint32_t overflow_keep = 4;
  // Loaded at the start of the daemon; otherwise at the first request.
  bool preload = true;
  // Unloaded after this time without a request; 0: never.
  Milliseconds idle_unload{0};
  // Processors that its worker may use, e.g. "0-3,8"; empty: those of the daemon.
  std::string cpus;
  // Added to the worker's niceness.
  uint32_t nice = 0;
  // Of the worker's private memory; 0: none.
  uint64_t memory_limit = 0;
  // Neither unloaded when idle nor to make room for another model.
  bool pinned = false;
  FileChange on_file_change = FileChange::kReload;
};

struct AuthOptions {
  std::string keys_file;                // empty: no key is asked for
  uint32_t wrong_keys_per_minute = 30;  // of an address, which then waits; 0: any number
  bool ready_for_all = false;           // /ready names models also to those without a right key
  bool metrics_for_all = false;         // a key that is limited to some models reads the metrics of all
};

// Where inferd-model pull finds models.
struct HubOptions {
  std::string address = "https://huggingface.co";
  // Empty: models that everyone may read.
  std::string token_file;
};

struct LimitOptions {
  uint64_t body = uint64_t{10} << 20;
  uint64_t all_bodies = uint64_t{1} << 30;
  uint64_t header = uint64_t{16} << 10;
  // From the first byte of a request to the end of its headers.
  Milliseconds header_timeout{10'000};
  // The same for its body.
  Milliseconds body_timeout{60'000};
  // Connection without a request.
  Milliseconds idle_timeout{120'000};
  uint32_t connections = 16384;
  // Per key, or per client address where no key is asked for; 0: any number.
  uint32_t requests_per_minute = 0;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kJson;
};

struct RestartOptions {
  Milliseconds first_delay{100};
  Milliseconds max_delay{30'000};
  // A process that needs more restarts than this within `window` is FAILED.
  uint32_t max = 10;
  Milliseconds window{600'000};
};

struct SupervisorOptions {
  // Time from the start of a worker to its readiness.
  Milliseconds load_timeout{600'000};
  // A worker that makes no progress for this long, while it has work or at answering, is killed.
  Milliseconds watchdog{30'000};
  // Time that running requests get at a stop or swap.
  Milliseconds drain{30'000};
  // Longest wait of a request for a model that is loaded because of it.
  Milliseconds load_wait{60'000};
  // What all loaded models may take together, files included; 0: what the machine has.
  uint64_t memory_budget = 0;
  RestartOptions restart;
};

// Variant of the kernels; kAuto is the best that the processor runs.
enum class InstructionSet { kAuto, kReference, kAvx2, kAvxVnni, kAvx512, kNeon, kNeonI8mm };

struct Config {
  ListenOptions listen;
  AdminTlsOptions admin_tls;
  std::string run_directory = "/run/inferd";  // sockets of the supervisor and the workers
  InstructionSet instruction_set = InstructionSet::kAuto;
  std::string models_directory;  // its GGUF files are models, too; empty: none. The daemon looks into it
  std::vector<ModelOptions> models;
  AuthOptions auth;
  HubOptions hub;
  LimitOptions limits;
  LogOptions log;
  SupervisorOptions supervisor;

  // By name, not alias; null if there is none.
  const ModelOptions* FindModel(std::string_view name) const;
};

}  // namespace inferd::config
