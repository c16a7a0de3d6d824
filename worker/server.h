// The gRPC server of a worker: Inference, Worker, health and reflection on one listening socket. It answers before the
// model is there, so that its health can be asked for.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<WorkerServer> server, WorkerServer::Start(*Listen(address), "chat", 2));
//   server->Serve(*model);                 // health becomes SERVING
//   server->BeginDrain();                  // NOT_SERVING
//   server->WaitForStreams(deadline);      // what the engine has finished is read
//   server->Shutdown();
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/unique_fd.h"
#include "worker/loaded_model.h"

namespace inferd::worker {

class WorkerServer {
 public:
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Start(UniqueFd listener, const std::string& model_name,
                                                             uint64_t version);
  ~WorkerServer();  // as Shutdown

  // `model` outlives the server.
  void Serve(const LoadedModel& model);
  void BeginDrain();
  // Until all streams of Generate have ended or the deadline has passed. Returns how many are left.
  size_t WaitForStreams(MonotonicTime deadline);
  // Ends all calls that are left. Once; more calls do nothing.
  void Shutdown();

 private:
  struct Impl;
  explicit WorkerServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::worker
