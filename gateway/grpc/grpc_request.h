// What a call on the public gRPC port has in common with an HTTP request: id, key, deadline, record.
//
//   GrpcRequest call(*context, serving, "Generate");
//   RETURN_IF_ERROR(call.Admit(access, *bytes, request));              // key, rate, then the message
//   ASSIGN_OR_RETURN(std::string model, call.Resolve(request.model()));
//   ...
//   return reactor->Finish(call.End(status));
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/grpc/raw_message.h"
#include "gateway/limits/byte_budget.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

class Access;

class GrpcRequest {
 public:
  // The request id is the metadata x-request-id where it is sane, else a new one.
  GrpcRequest(grpc::CallbackServerContext& context, const Serving& serving, const std::string& method);

  // Checks key and rate, and only then parses the message, which counts among the bodies that are held. See
  // CheckServing, Access::Check and ParseMessage for the errors.
  absl::Status Admit(Access& access, const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

  // Takes the message's own request id where the metadata have none.
  void OfferId(const std::string& offered);

  // The model's name; see ResolveModel for the errors.
  absl::StatusOr<std::string> Resolve(const std::string& named);
  // The request asks for so many answers, which count in its rate.
  void CountAnswers(Access& access, uint64_t answers) const;

  // The status for the client, with what to retry after in the trailer; also writes log line and metrics.
  grpc::Status End(const absl::Status& status);

  ModelCall MakeCall(const std::string& model, const std::string& user) const;
  // Its key is null before Admit().
  ServedRequest& served() { return served_; }
  TimePoint deadline() const { return deadline_; }

 private:
  grpc::CallbackServerContext& context_;
  const Serving serving_;
  ByteShare share_;
  ServedRequest served_;
  bool id_is_given_ = false;  // by the metadata
  TimePoint deadline_ = TimePoint::max();
};

}  // namespace inferd::gateway
