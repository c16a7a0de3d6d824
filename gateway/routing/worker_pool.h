// Connections to the workers: one channel for each address, kept as long as a route or a call uses it.
//
//   std::shared_ptr<WorkerConnection> worker = pool.Get("unix:/run/inferd/w/chat-1.sock");
//   worker->inference->async()->Tokenize(...);
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "inferd/v1/inference.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"

namespace inferd::gateway {

class RouteTable;

struct WorkerConnection {
  std::string address;
  std::unique_ptr<v1::Inference::Stub> inference;
  std::unique_ptr<v1::Worker::Stub> worker;
};

class WorkerPool {
 public:
  std::shared_ptr<WorkerConnection> Get(const std::string& address);
  // Forgets the addresses that `table` does not name.
  void KeepOnly(const RouteTable& table);

 private:
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<WorkerConnection>> connections_ ABSL_GUARDED_BY(mutex_);
};

// A channel to a process of this machine: reconnects fast, messages of any size.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target);

}  // namespace inferd::gateway
