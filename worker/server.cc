// gRPC's own health and reflection services beside ours.
#include "worker/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "config/base/status.h"
#include "worker/acceptor.h"
#include "worker/inference_service.h"
#include "worker/worker_service.h"

namespace inferd::worker {
namespace {

constexpr char kInferenceService[] = "inferd.v1.Inference";
constexpr char kWorkerService[] = "inferd.v1.Worker";
// For the last events of calls; a watch of health never ends by itself.
constexpr std::chrono::milliseconds kShutdownTime(300);

void AddConnection(grpc::Server& server, UniqueFd connection) {
  const int on = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // refused by unix sockets, which need none
  grpc::AddInsecureChannelFromFd(&server, connection.Release());
}

}  // namespace

struct WorkerServer::Impl {
  Impl(const std::string& model_name, uint64_t version) : worker(model_name, version) {}

  void SetServing(bool serving) {
    server->GetHealthCheckService()->SetServingStatus("", serving);
    server->GetHealthCheckService()->SetServingStatus(kInferenceService, serving);
  }

  InferenceService inference;
  WorkerService worker;
  std::unique_ptr<grpc::Server> server;  // ends before the services
  std::unique_ptr<Acceptor> acceptor;
};

WorkerServer::WorkerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerServer::~WorkerServer() { Shutdown(); }

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Start(UniqueFd listener, const std::string& model_name,
                                                                  uint64_t version) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto impl = std::make_unique<Impl>(model_name, version);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);  // limits.body bounds what the gateway sends
  builder.RegisterService(&impl->inference);
  builder.RegisterService(&impl->worker);
  impl->server = builder.BuildAndStart();
  if (impl->server == nullptr) return Internal("the gRPC server cannot be started");
  impl->worker.OnDrain([server = impl.get()] { server->SetServing(false); });
  impl->SetServing(false);
  impl->server->GetHealthCheckService()->SetServingStatus(kWorkerService, true);  // also while it loads or drains
  impl->acceptor = std::make_unique<Acceptor>(std::move(listener), [server = impl->server.get()](UniqueFd connection) {
    AddConnection(*server, std::move(connection));
  });
  return std::unique_ptr<WorkerServer>(new WorkerServer(std::move(impl)));
}

void WorkerServer::Serve(const LoadedModel& model) {
  impl_->inference.SetModel(model);
  impl_->worker.SetModel(model);
  impl_->SetServing(true);
}

void WorkerServer::BeginDrain() { impl_->SetServing(false); }

size_t WorkerServer::WaitForStreams(MonotonicTime deadline) { return impl_->inference.WaitForStreams(deadline); }

void WorkerServer::Shutdown() {
  impl_->acceptor->Stop();
  impl_->server->Shutdown(std::chrono::system_clock::now() + kShutdownTime);
}

}  // namespace inferd::worker
