#include "gateway/routing/worker_pool.h"

#include <grpcpp/grpcpp.h>

#include <set>

#include "gateway/routing/route_table.h"

namespace inferd::gateway {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  constexpr int kFirstReconnectMilliseconds = 20;
  constexpr int kLongestReconnectMilliseconds = 200;
  // For all of a connection attempt: a new worker that shares its processors with others may be slow to greet.
  constexpr int kLongestConnectMilliseconds = 5000;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kLongestConnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMilliseconds);
  // Each channel its own connection, so that a pool entry that is dropped takes its connection along.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

std::shared_ptr<WorkerConnection> WorkerPool::Get(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<WorkerConnection>& connection = connections_[address];
  if (connection == nullptr) {
    std::shared_ptr<grpc::Channel> channel = MakeChannel(address);
    connection = std::make_shared<WorkerConnection>(
        WorkerConnection{address, v1::Inference::NewStub(channel), v1::Worker::NewStub(channel)});
  }
  return connection;
}

void WorkerPool::KeepOnly(const RouteTable& table) {
  std::set<std::string> named;
  for (const ModelRoute& model : table.models()) {
    for (const VersionRoute& version : model.versions) named.insert(version.address);
  }
  absl::MutexLock lock(&mutex_);
  std::erase_if(connections_, [&](const auto& entry) { return !named.contains(entry.first); });
}

}  // namespace inferd::gateway
