// inferd-worker: one version of one model behind a gRPC socket. Exit codes: 0 done, 1 failed, 2 usage or
// configuration, 3 the model was refused, 4 out of memory.
#include <unistd.h>

#include <memory>
#include <optional>

#include "absl/synchronization/notification.h"
#include "config/base/child_process.h"
#include "config/base/log.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/sandbox/system_calls.h"
#include "proto/grpc_log.h"
#include "worker/loaded_model.h"
#include "worker/memory_end.h"
#include "worker/options.h"
#include "worker/prefix_store.h"
#include "worker/preparation.h"
#include "worker/quiet_load.h"
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
  process.Report(status);
  LogError("worker failed", {{"reason", MessageOf(status)}, {"exit_code", exit_code}});
  return exit_code;
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

// Whether a worker could serve the model.
int Check(const ChildProcess& process, const WorkerOptions& options, const Preparation& ready) {
  const auto refuse = [&](const absl::Status& status, int exit_code) {
    process.Report(status);
    if (options.report_fd < 0) PrintError("inferd-worker", MessageOf(status));
    return exit_code;
  };
  if (!ready.status.ok()) return refuse(ready.status, ready.exit_code);
  const absl::Status status = CheckModel(*ready.model, ready.isa);
  return status.ok() ? kExitDone : refuse(status, ExitCodeFor(status));
}

// Narrows what the process may do once more, where it is to be narrowed.
absl::Status Limit(const WorkerOptions& options, sandbox::Stage stage) {
  return options.sandbox ? sandbox::LimitSystemCalls(stage) : absl::OkStatus();
}

int Serve(const ChildProcess& process, const WorkerOptions& options, Preparation& ready, absl::Notification& stop) {
  if (!ready.status.ok()) return Fail(process, ready.status, ready.exit_code);
  LogInfo("sandbox", {{"enabled", options.sandbox}, {"landlock_abi", ready.landlock_abi}, {"user", geteuid()}});
  if (!ready.no_user.empty()) LogWarning("the worker keeps the daemon's user", {{"reason", ready.no_user}});
  if (!ready.no_prefixes.ok()) {
    LogWarning("saved prefixes ignored", {{"model", options.model}, {"reason", MessageOf(ready.no_prefixes)}});
  }
  absl::StatusOr<std::unique_ptr<WorkerServer>> server =
      WorkerServer::Start(std::move(ready.listener), options.model, options.version);
  if (!server.ok()) return Fail(process, server.status(), kExitFailed);
  const MonotonicTime begin = Clock::System().Now();
  std::optional<QuietLoad> quiet;
  if (options.quiet_load) quiet = QuietLoad::Begin();
  absl::StatusOr<std::unique_ptr<LoadedModel>> model =
      LoadModel(*ready.model, ready.isa, options.version, ready.prefixes.get());
  if (!model.ok()) {
    return Fail(process, Annotate(model.status(), "model " + options.model), ExitCodeFor(model.status()));
  }
  if (quiet) quiet->End();
  if (absl::Status status = Limit(options, sandbox::Stage::kServingWorker); !status.ok()) {
    return Fail(process, status, kExitFailed);
  }
  (*server)->Serve(**model);
  LogInfo("worker ready", {{"model", options.model},
                           {"version", options.version},
                           {"description", (*model)->model->description()},
                           {"device", (*model)->engine->device().description()},
                           {"load_seconds", std::chrono::duration<double>(Clock::System().Now() - begin).count()}});

  stop.WaitForNotification();
  (*server)->BeginDrain();
  const MonotonicTime deadline = Clock::System().Now() + process.DrainTime(ready.config.supervisor.drain);
  const size_t unfinished = (*model)->engine->Drain(deadline);
  const size_t unread = (*server)->WaitForStreams(deadline);
  LogInfo("worker drained", {{"model", options.model}, {"unfinished", unfinished}, {"unread", unread}});
  (*model)->engine->Stop();
  const MonotonicTime told = Clock::System().Now() + kLastWords;
  if (ready.prefixes != nullptr) SavePrefixes(**model, *ready.prefixes);
  (*server)->WaitForStreams(told);
  (*server)->Shutdown();
  return kExitDone;
}

int Main(int argc, const char* const* argv) {
  WorkerOptions options;
  if (std::optional<int> exit_code = ReadCommandLine(argc, argv, options)) return *exit_code;
  ExitWhereMemoryEnds();
  const std::unique_ptr<Preparation> ready = Prepare(options);
  absl::Notification stop;
  absl::StatusOr<std::unique_ptr<ChildProcess>> process = ChildProcess::Start(
      {.lifeline_fd = options.lifeline_fd, .report_fd = options.report_fd}, [&stop](int) { stop.Notify(); });
  if (!process.ok()) {
    PrintError("inferd-worker", MessageOf(process.status()));
    return kExitFailed;
  }
  StartLog(
      {.process = "worker " + options.model, .level = ready->config.log.level, .format = ready->config.log.format});
  TakeOverGrpcLog();
  const int exit_code = options.check ? Check(**process, options, *ready) : Serve(**process, options, *ready, stop);
  StopLog();
  return exit_code;
}

}  // namespace
}  // namespace inferd::worker

int main(int argc, char** argv) { return inferd::worker::Main(argc, argv); }
