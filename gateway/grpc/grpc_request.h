// What a call on the public gRPC port has in common with an HTTP request: id, key, deadline, record.
//
//   GrpcRequest call(*context, serving, "Generate", request->request_id(), request->ByteSizeLong());
//   ASSIGN_OR_RETURN(std::string model, call.Admit(access, request->model()));
//   ...
//   return reactor->Finish(call.End(status));
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/limits/byte_budget.h"
#include "gateway/openai/serving.h"
#include "gateway/request_record.h"

namespace inferd::config {
struct ApiKey;
}

namespace inferd::gateway {

class Access;

class GrpcRequest {
 public:
  // The request id is the metadata x-request-id where it is sane, else `offered_id` where that is, else a new one.
  // `bytes`: size of the message, which counts among the bodies that are held.
  GrpcRequest(grpc::CallbackServerContext& context, const Serving& serving, const std::string& method,
              const std::string& offered_id, uint64_t bytes);

  // The model's name, after key and rate were checked. See CheckServing, Access::Check and ResolveModel for the errors;
  // UNAVAILABLE also while too many bodies are held.
  absl::StatusOr<std::string> Admit(Access& access, const std::string& named);

  // The same for a call that names no model.
  absl::Status AdmitWithoutModel(Access& access);
  bool MaySee(const std::string& model) const;

  // The status for the client, with what to retry after in the trailer; also writes log line and metrics.
  grpc::Status End(const absl::Status& status);

  ModelCall MakeCall(const std::string& model, const std::string& user) const;
  const std::string& id() const { return id_; }
  // Null before Admit(), and where no key is asked for.
  const config::ApiKey* key() const { return key_.get(); }
  TimePoint arrived() const { return arrived_; }
  TimePoint deadline() const { return deadline_; }
  RequestRecord& record() { return record_; }

 private:
  grpc::CallbackServerContext& context_;
  const Serving serving_;
  const uint64_t bytes_;
  ByteShare share_;
  std::string id_;
  const TimePoint arrived_ = std::chrono::steady_clock::now();
  TimePoint deadline_ = TimePoint::max();
  std::shared_ptr<const config::ApiKey> key_;
  RequestRecord record_;
};

}  // namespace inferd::gateway
