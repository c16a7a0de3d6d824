// Stands in for inferd-worker in tests of the supervisor: a worker whose "model file" is a script of faults, one
// "key value" a line:
//   load_ms N           time until it serves
//   refuse REASON       exits with 3
//   crash_ms N          exits with 9 this long after it serves
//   wedge 1             claims to have work and never makes progress
//   silent 1            never answers that it serves
//   requests N          claims N running requests, with progress
//   fingerprint F, tokenizer F
//   stubborn 1          ignores SIGTERM
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/status.h"
#include "config/load.h"
#include "inferd/v1/worker.grpc.pb.h"

namespace inferd::daemon {
namespace {

using Script = std::map<std::string, std::string>;

Script ReadScript(const std::string& path) {
  Script script;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    if (space != line.npos) script[line.substr(0, space)] = line.substr(space + 1);
  }
  return script;
}

int NumberIn(const Script& script, const std::string& key) {
  const auto found = script.find(key);
  return found == script.end() ? 0 : std::stoi(found->second);
}

class FakeService : public v1::Worker::Service {
 public:
  FakeService(std::string model, uint64_t version, const Script& script)
      : model_(std::move(model)), version_(version), script_(script) {}

  grpc::Status Stats(grpc::ServerContext*, const v1::StatsRequest*, v1::StatsResponse* response) override {
    const auto text = [&](const char* key) { return script_.contains(key) ? script_.at(key) : "same"; };
    response->set_model(model_);
    response->set_version(version_);
    response->set_fingerprint(text("fingerprint"));
    response->set_tokenizer_fingerprint(text("tokenizer"));
    response->set_requests_running(script_.contains("wedge") ? 1
                                                             : static_cast<uint32_t>(NumberIn(script_, "requests")));
    response->set_progress(script_.contains("wedge") ? 7 : ++progress_);
    response->set_pid(getpid());
    return grpc::Status::OK;
  }

 private:
  const std::string model_;
  const uint64_t version_;
  const Script script_;
  std::atomic<uint64_t> progress_ = 0;
};

// The event that ends the process.
class Ending {
 public:
  void Notify() {
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  // False if `wait` passed first.
  bool WaitFor(Milliseconds wait) {
    const absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&ended_), absl::FromChrono(wait));
  }

 private:
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

int Serve(const Script& script, FakeService& service, const std::string& address, Ending& ending) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::HealthCheckServiceInterface* const health = server->GetHealthCheckService();
  health->SetServingStatus("inferd.v1.Inference", false);
  if (ending.WaitFor(Milliseconds(NumberIn(script, "load_ms")))) {
    server->Shutdown(std::chrono::system_clock::now());
    return kExitDone;
  }
  if (!script.contains("silent")) health->SetServingStatus("inferd.v1.Inference", true);
  const bool crashes = script.contains("crash_ms");
  const bool told =
      ending.WaitFor(crashes ? Milliseconds(NumberIn(script, "crash_ms")) : Milliseconds(std::chrono::hours(1)));
  if (!told) std::_Exit(9);  // a crash waits for nobody
  server->Shutdown(std::chrono::system_clock::now());
  return kExitDone;
}

int Main(int argc, char** argv) {
  std::string config_file, model, listen;
  uint64_t version = 0;
  ChildDescriptors descriptors;
  CLI::App app("A worker for tests.", "inferd-worker");
  app.add_option("--config", config_file);
  app.add_option("--model", model);
  app.add_option("--model-version", version);
  app.add_option("--listen", listen);
  app.add_option("--lifeline-fd", descriptors.lifeline_fd);
  app.add_option("--report-fd", descriptors.report_fd);
  app.add_flag("--quiet-load");
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  const auto config = config::LoadConfig(config_file);
  if (!config.ok() || config->FindModel(model) == nullptr) return kExitUsage;
  const Script script = ReadScript(config->FindModel(model)->path);

  Ending ending;
  const auto watch = ChildProcess::Start(descriptors, [&](int) {
    if (!script.contains("stubborn")) ending.Notify();
  });
  if (!watch.ok()) return kExitFailed;
  if (script.contains("refuse")) {
    (*watch)->Report(absl::InvalidArgumentError(script.at("refuse")));
    return kExitRefused;
  }
  FakeService service(model, version, script);
  return Serve(script, service, listen, ending);
}

}  // namespace
}  // namespace inferd::daemon

int main(int argc, char** argv) { return inferd::daemon::Main(argc, argv); }
