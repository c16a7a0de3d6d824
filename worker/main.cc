// inferd-worker: one version of one model behind a gRPC socket. Exit codes: 0 done, 1 failed, 2 usage or
// configuration, 3 the model was refused, 4 out of memory.

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/synchronization/notification.h"
#include "config/base/address.h"
#include "config/base/child_process.h"
#include "config/base/log.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/environment.h"
#include "config/load.h"
#include "proto/grpc_log.h"
#include "worker/loaded_model.h"
#include "worker/memory_end.h"
#include "worker/options.h"
#include "worker/prefix_store.h"
#include "worker/quiet_load.h"
#include "worker/sandbox.h"
#include "worker/server.h"

namespace inferd::worker {
namespace {

// In which clients are told why their streams end, less than the supervisor gives beyond the drain.
constexpr std::chrono::milliseconds kLastWords(1000);

// What the model's file is to blame for, and trying again would not help.
bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

int ExitCodeFor(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return kExitOutOfMemory;
  return IsRefusal(status) ? kExitRefused : kExitFailed;
}

int Fail(const ChildProcess& process, const absl::Status& status, int exit_code) {
  process.Report(MessageOf(status));
  LogError("worker failed", {{"reason", MessageOf(status)}, {"exit_code", exit_code}});
  return exit_code;
}

// The models' folders (all parts of a split file lie in one), also where a link leads, and the socket's.
FileAccess FilesOf(const config::ModelOptions& model, const Address& address) {
  namespace fs = std::filesystem;
  FileAccess access;
  for (const std::string& path : {model.path, model.speculation.draft_path}) {
    if (path.empty()) continue;
    access.readable.push_back(fs::path(path).parent_path().string());
    std::error_code error;
    const fs::path target = fs::canonical(path, error);
    if (!error) access.readable.push_back(target.parent_path().string());
  }
  if (address.is_unix()) access.socket_directory = fs::path(address.path).parent_path().string();
  return access;
}

// A model without its file is served all the same.
std::unique_ptr<PrefixStore> OpenPrefixes(const config::ModelOptions& model) {
  if (model.kv_cache.save.empty()) return nullptr;
  absl::StatusOr<std::unique_ptr<PrefixStore>> store = PrefixStore::Open(model.kv_cache.save);
  if (store.ok()) return *std::move(store);
  LogWarning("saved prefixes ignored", {{"model", model.name}, {"reason", MessageOf(store.status())}});
  return nullptr;
}

void SavePrefixes(const LoadedModel& model, PrefixStore& store) {
  cache::KvCache& cache = model.engine->device().cache();
  if (cache.Stats().prefix_pages == 0) return;  // what the file has may be of use the next time
  const auto saved = store.Save(cache, model.cache_identity(), model.options.kv_cache.save_bytes);
  if (!saved.ok()) {
    LogWarning("prefixes not saved", {{"model", model.options.name}, {"reason", MessageOf(saved.status())}});
  } else {
    LogInfo("prefixes saved", {{"model", model.options.name}, {"tokens", saved->tokens}, {"bytes", saved->bytes}});
  }
}

// What the configuration says of one model, before its files are opened.
struct Assignment {
  config::Config config;
  const config::ModelOptions* model = nullptr;  // of it
  std::string isa;                              // empty: the best
};

absl::StatusOr<std::unique_ptr<const Assignment>> ReadAssignment(const WorkerOptions& options) {
  auto assignment = std::make_unique<Assignment>();
  ASSIGN_OR_RETURN(assignment->config, config::LoadConfig(options.config));
  assignment->model = assignment->config.FindModel(options.model);
  if (assignment->model == nullptr) {
    return NotFound("--model {}: no such model in {}", options.model, options.config);
  }
  ASSIGN_OR_RETURN(const config::InstructionSet isa, config::ChosenInstructionSet(assignment->config.instruction_set));
  if (isa != config::InstructionSet::kAuto) assignment->isa = config::NameOf(isa);
  return assignment;
}

// What is to be done while all files can be opened.
absl::Status PrepareForFiles(const config::ModelOptions& model) {
  if (!model.engine.blas) return absl::OkStatus();
  return device::LoadBlas();
}

// Whether a worker could serve the model.
int Check(const ChildProcess& process, const WorkerOptions& options) {
  const auto refuse = [&](const absl::Status& status, int exit_code) {
    process.Report(MessageOf(status));
    if (options.report_fd < 0) PrintError("inferd-worker", MessageOf(status));
    return exit_code;
  };
  const absl::StatusOr<std::unique_ptr<const Assignment>> assignment = ReadAssignment(options);
  if (!assignment.ok()) return refuse(assignment.status(), kExitUsage);
  const config::ModelOptions& model = *(*assignment)->model;
  absl::Status status = PrepareForFiles(model);
  if (status.ok() && options.sandbox) status = LimitFiles(FilesOf(model, Address()));
  if (status.ok()) status = CheckModel(model, (*assignment)->isa);
  return status.ok() ? kExitDone : refuse(status, ExitCodeFor(status));
}

int Serve(const ChildProcess& process, const WorkerOptions& options, absl::Notification& stop) {
  const absl::StatusOr<std::unique_ptr<const Assignment>> assignment = ReadAssignment(options);
  if (!assignment.ok()) return Fail(process, assignment.status(), kExitUsage);
  const config::Config& config = (*assignment)->config;
  const config::ModelOptions* const model_options = (*assignment)->model;
  StartLog({.process = "worker " + options.model, .level = config.log.level, .format = config.log.format});
  const absl::StatusOr<Address> address = ParseAddress(options.listen);
  if (!address.ok()) return Fail(process, Annotate(address.status(), "--listen"), kExitUsage);
  if (absl::Status status = PrepareForFiles(*model_options); !status.ok()) {
    return Fail(process, Annotate(status, "model " + options.model), kExitRefused);
  }
  const std::unique_ptr<PrefixStore> prefixes = OpenPrefixes(*model_options);
  if (options.sandbox) {
    if (absl::Status status = LimitFiles(FilesOf(*model_options, *address)); !status.ok()) {
      return Fail(process, status, kExitFailed);
    }
  }
  absl::StatusOr<std::unique_ptr<WorkerServer>> server = WorkerServer::Start(*address, options.model, options.version);
  if (!server.ok()) return Fail(process, server.status(), kExitFailed);
  const MonotonicTime begin = Clock::System().Now();
  std::optional<QuietLoad> quiet;
  if (options.quiet_load) quiet = QuietLoad::Begin();
  absl::StatusOr<std::unique_ptr<LoadedModel>> model =
      LoadModel(*model_options, (*assignment)->isa, options.version, prefixes.get());
  if (!model.ok()) {
    return Fail(process, Annotate(model.status(), "model " + options.model), ExitCodeFor(model.status()));
  }
  if (quiet) quiet->End();
  if (options.sandbox) {
    if (absl::Status status = LimitSystemCalls(); !status.ok()) return Fail(process, status, kExitFailed);
  }
  (*server)->Serve(**model);
  LogInfo("worker ready", {{"model", options.model},
                           {"version", options.version},
                           {"description", (*model)->model->description()},
                           {"device", (*model)->engine->device().description()},
                           {"load_seconds", std::chrono::duration<double>(Clock::System().Now() - begin).count()}});

  stop.WaitForNotification();
  (*server)->BeginDrain();
  const MonotonicTime deadline = Clock::System().Now() + process.DrainTime(config.supervisor.drain);
  const size_t unfinished = (*model)->engine->Drain(deadline);
  const size_t unread = (*server)->WaitForStreams(deadline);
  LogInfo("worker drained", {{"model", options.model}, {"unfinished", unfinished}, {"unread", unread}});
  (*model)->engine->Stop();
  const MonotonicTime told = Clock::System().Now() + kLastWords;
  if (prefixes != nullptr) SavePrefixes(**model, *prefixes);
  (*server)->WaitForStreams(told);
  (*server)->Shutdown();
  return kExitDone;
}

int Main(int argc, const char* const* argv) {
  WorkerOptions options;
  if (std::optional<int> exit_code = ReadCommandLine(argc, argv, options)) return *exit_code;
  ExitWhereMemoryEnds();
  absl::Notification stop;
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(
      {.lifeline_fd = options.lifeline_fd, .report_fd = options.report_fd}, [&stop](int) { stop.Notify(); });
  if (!process.ok()) {
    PrintError("inferd-worker", MessageOf(process.status()));
    return kExitFailed;
  }
  tzset();  // reads its file while files can be opened
  StartLog({.process = "worker " + options.model});
  TakeOverGrpcLog();
  const int exit_code = options.check ? Check(**process, options) : Serve(**process, options, stop);
  StopLog();
  return exit_code;
}

}  // namespace
}  // namespace inferd::worker

int main(int argc, char** argv) { return inferd::worker::Main(argc, argv); }
