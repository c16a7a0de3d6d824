#include "gateway/grpc/public_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>

#include "config/base/status.h"
#include "gateway/async/io_pool.h"
#include "gateway/grpc/inference_service.h"
#include "gateway/http/acceptor.h"
#include "gateway/http/connection_limit.h"

namespace inferd::gateway {
namespace {

constexpr char kServiceName[] = "inferd.v1.Inference";

// Bytes of calls whose handler has not begun: each stream may hold a message, before its key is looked at.
constexpr int kMostStreams = 256;  // of a connection at a time
constexpr size_t kQuotaMessages = 32;

// Nothing that a client sends is inflated: a small message could become a large one before its key is looked at.
void RefuseCompression(grpc::ServerBuilder& builder) {
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

// What all connections may hold together of messages that are being received.
void BoundMessages(grpc::ServerBuilder& builder, size_t max_message_bytes) {
  grpc::ResourceQuota quota("inferd-gateway");
  quota.Resize(std::max<size_t>(max_message_bytes * kQuotaMessages, 64 << 20));
  builder.SetResourceQuota(quota);
}

std::unique_ptr<grpc::Server> BuildServer(grpc::Service& service, const PublicServerOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<size_t>(options.max_message_bytes, 1 << 30)));
  builder.SetMaxSendMessageSize(-1);
  BoundMessages(builder, options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  RefuseCompression(builder);
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

void PublicServer::SayServing(const std::string& health_name) {
  parts_->server->GetHealthCheckService()->SetServingStatus(health_name, true);
}

void PublicServer::Listen(UniqueFd listener, ConnectionLimit& limit) {
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
