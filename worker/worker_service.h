// The Worker service: what the supervisor and the gateway ask of this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>

#include "inferd/v1/worker.grpc.pb.h"
#include "worker/loaded_model.h"
#include "worker/own_memory.h"

namespace inferd::worker {

class WorkerService : public v1::Worker::CallbackService {
 public:
  // Before the sandbox: it opens a file of /proc.
  WorkerService(std::string model, uint64_t version);

  void SetModel(const LoadedModel& model) { model_ = &model; }
  // Called once when a drain begins, before Drain waits.
  void OnDrain(std::function<void()> callback) { on_drain_ = std::move(callback); }

  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext* context, const v1::StatsRequest* request,
                                  v1::StatsResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const v1::DrainWorkerRequest* request,
                                  v1::DrainWorkerResponse* response) override;

 private:
  void WriteMemory(v1::StatsResponse& response) const;

  const std::string name_;
  const uint64_t version_;
  const OwnMemory memory_;
  std::atomic<const LoadedModel*> model_ = nullptr;
  std::function<void()> on_drain_ = [] {};
};

}  // namespace inferd::worker
