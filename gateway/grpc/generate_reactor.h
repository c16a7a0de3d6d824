// One Generate call on the public port: a coroutine takes the generation's events and writes them one after the other.
//
//   return GenerateReactor::Start(pool.Next(), serving, access, *context, *bytes, calls);
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "config/base/open_calls.h"
#include "gateway/serving/serving.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

class Access;
class GrpcRequest;

class GenerateReactor : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // Deletes itself when gRPC is done with it.
  static GenerateReactor* Start(const Executor& executor, const Serving& serving, Access& access,
                                grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes, OpenCalls& calls);

 private:
  struct State;
  explicit GenerateReactor(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  static Task<void> Run(std::shared_ptr<State> state);
  static absl::Status Read(State& state);
  static Task<absl::Status> SendEvents(State& state);
  static void HideInternals(v1::Finished& finished, GrpcRequest& call);

  const std::shared_ptr<State> state_;
};

}  // namespace inferd::gateway
