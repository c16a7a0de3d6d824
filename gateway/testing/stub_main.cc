// gateway-stub: plays a worker, the supervisor's admin service, or both.
//
//   gateway-stub --listen unix:/tmp/w.sock --model chat   [--together 2: models are listed for two at a time]
//                [--version 2 --fingerprint fp_1: as it says of itself] [--withdraw-at 5, --hold-queue yes:
//                stub_worker.h]
//   gateway-stub --admin unix:/tmp/admin.sock --route chat=unix:/tmp/w.sock --route chat2=unix:/tmp/w2.sock
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gateway/testing/stub_worker.h"
#include "inferd/v1/admin.grpc.pb.h"

namespace inferd::gateway {
namespace {

class StubAdmin : public v1::Admin::Service {
 public:
  explicit StubAdmin(v1::RouteSnapshot snapshot) : snapshot_(std::move(snapshot)) {}

  grpc::Status WatchRoutes(grpc::ServerContext*,
                           grpc::ServerReaderWriter<v1::RouteSnapshot, v1::WatchRoutesRequest>* stream) override {
    stream->Write(snapshot_);
    // Nothing changes until the gateway leaves.
    v1::WatchRoutesRequest told;
    while (stream->Read(&told)) continue;
    return grpc::Status::OK;
  }

  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusResponse* response) override {
    response->set_reloads_ok(2);
    for (const v1::Route& route : snapshot_.routes()) {
      v1::WorkerStatus* worker = response->add_workers();
      worker->set_model(route.model());
      worker->set_version(1);
      worker->set_state("READY");
      worker->set_restarts(4);
    }
    return grpc::Status::OK;
  }

 private:
  const v1::RouteSnapshot snapshot_;
};

void AddRoute(const std::string& text, v1::RouteSnapshot& snapshot) {
  size_t equals = text.find('=');
  v1::Route* route = snapshot.add_routes();
  route->set_model(text.substr(0, equals));
  route->add_aliases(route->model() + "-alias");
  route->set_expected(true);
  v1::RouteVersion* version = route->add_versions();
  version->set_version(1);
  version->set_address(text.substr(equals + 1));
  version->set_weight(100);
  version->set_state("READY");
  version->set_fingerprint("fp_0123456789abcdef");
  version->set_updated_unix_seconds(1'700'000'000);
}

int Run(const std::vector<std::string>& arguments) {
  std::string listen, admin;
  int together = 0;
  StubOptions options;
  v1::RouteSnapshot snapshot;
  snapshot.set_revision(1);
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string& value = arguments[i + 1];
    if (arguments[i] == "--listen") listen = value;
    if (arguments[i] == "--admin") admin = value;
    if (arguments[i] == "--model") options.model = value;
    if (arguments[i] == "--version") options.version = static_cast<uint64_t>(std::atoi(value.c_str()));
    if (arguments[i] == "--fingerprint") options.fingerprint = value;
    if (arguments[i] == "--withdraw-at") options.withdraw_at = std::atoi(value.c_str());
    if (arguments[i] == "--together") together = std::atoi(value.c_str());
    if (arguments[i] == "--hold-queue") options.holds_queue = value == "yes";
    if (arguments[i] == "--route") AddRoute(value, snapshot);
  }
  StubInference inference(options);
  inference.set_together(together);
  StubWorker worker(inference, options.model);
  StubAdmin supervisor(snapshot);
  std::vector<std::unique_ptr<grpc::Server>> servers;
  if (!listen.empty()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(listen, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterService(&inference);
    builder.RegisterService(&worker);
    servers.push_back(builder.BuildAndStart());
  }
  if (!admin.empty()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(admin, grpc::InsecureServerCredentials());
    builder.RegisterService(&supervisor);
    servers.push_back(builder.BuildAndStart());
  }
  for (const auto& server : servers) {
    if (server == nullptr) return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  for (const auto& server : servers) server->Wait();
  return 0;
}

}  // namespace
}  // namespace inferd::gateway

int main(int argc, char** argv) { return inferd::gateway::Run({argv + 1, argv + argc}); }
