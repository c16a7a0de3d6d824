#include "gateway/grpc/public_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>

#include "config/base/status.h"
#include "gateway/grpc/inference_service.h"
#include "gateway/http/acceptor.h"
#include "gateway/http/connection_limit.h"
#include "gateway/http/io_pool.h"

namespace inferd::gateway {
namespace {

constexpr char kServiceName[] = "inferd.v1.Inference";

std::unique_ptr<grpc::Server> BuildServer(grpc::Service& service, const PublicServerOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<size_t>(options.max_message_bytes, 1 << 30)));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(options.idle_timeout.count()));
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

}  // namespace

struct PublicServer::Parts {
  Parts(IoPool& io_pool, const Serving& serving, Access& access, const PublicServerOptions& options)
      : pool(io_pool), service(io_pool, serving, access), server(BuildServer(service, options)) {
    CHECK(server != nullptr);
    server->GetHealthCheckService()->SetServingStatus(kServiceName, true);
  }

  IoPool& pool;
  InferenceService service;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<Acceptor> acceptor;
};

PublicServer::PublicServer(IoPool& pool, const Serving& serving, Access& access, PublicServerOptions options)
    : parts_(std::make_unique<Parts>(pool, serving, access, options)) {}

PublicServer::~PublicServer() = default;

void PublicServer::Listen(UniqueFd listener, ConnectionLimit& limit, const std::string& health_name) {
  if (!health_name.empty()) parts_->server->GetHealthCheckService()->SetServingStatus(health_name, true);
  parts_->acceptor = Acceptor::Start(
      parts_->pool.At(0), std::move(listener), [&limit] { return limit.HasRoom(); },
      [&limit, server = parts_->server.get()](UniqueFd fd) {
        limit.OpenedElsewhere(fd.get());
        grpc::AddInsecureChannelFromFd(server, fd.Release());
      });
}

void PublicServer::AwaitNoCall(TimePoint deadline) {
  parts_->server->GetHealthCheckService()->SetServingStatus(false);
  parts_->service.calls().WaitForNone(deadline);
}

bool PublicServer::Drain(TimePoint deadline) {
  if (parts_->acceptor) parts_->acceptor->Stop();
  parts_->server->GetHealthCheckService()->SetServingStatus(false);
  auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  parts_->server->Shutdown(std::chrono::system_clock::now() + left);
  return parts_->service.calls().WaitForNone(std::chrono::steady_clock::now()) == 0;
}

}  // namespace inferd::gateway
