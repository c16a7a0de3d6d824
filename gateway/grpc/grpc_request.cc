#include "gateway/grpc/grpc_request.h"

#include <fmt/format.h>

#include "config/base/status.h"
#include "gateway/auth/access.h"
#include "gateway/serving/errors.h"
#include "gateway/serving/request_id.h"
#include "proto/call_metadata.h"
#include "proto/deadline.h"

namespace inferd::gateway {
namespace {

std::string Metadata(const grpc::CallbackServerContext& context, const char* name) {
  auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end() ? "" : std::string(found->second.data(), found->second.size());
}

TimePoint DeadlineOf(const grpc::CallbackServerContext& context) {
  auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return TimePoint::max();
  auto left =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(deadline - std::chrono::system_clock::now());
  return left > std::chrono::milliseconds(kMostDeadlineMilliseconds) ? TimePoint::max()
                                                                     : std::chrono::steady_clock::now() + left;
}

// "127.0.0.1" of "ipv4:127.0.0.1:4711"; the whole for other forms.
std::string PeerHost(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

GrpcRequest::GrpcRequest(grpc::CallbackServerContext& context, const Serving& serving, const std::string& method)
    : context_(context), serving_(serving), share_(serving.bodies), deadline_(DeadlineOf(context)) {
  const std::string metadata_id = Metadata(context, "x-request-id");
  id_is_given_ = !metadata_id.empty();
  served_.request_id = MakeRequestId(metadata_id);
  served_.record.endpoint = "grpc " + method;
  served_.peer_host = PeerHost(context_.peer());
}

void GrpcRequest::OfferId(const std::string& offered) {
  if (!id_is_given_) served_.request_id = MakeRequestId(offered);
}

absl::Status GrpcRequest::Admit(Access& access, const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  RETURN_IF_ERROR(CheckServing(serving_));
  ASSIGN_OR_RETURN(served_.key, access.Check(Metadata(context_, "authorization"), served_.peer_host));
  if (served_.key != nullptr) served_.record.key_name = served_.key->name;
  return ParseMessage(bytes, share_, message);
}

absl::StatusOr<std::string> GrpcRequest::Resolve(const std::string& named) {
  return ResolveModel(serving_, served_, named);
}

void GrpcRequest::CountAnswers(Access& access, uint64_t answers) const {
  access.CountAnswers(served_.key.get(), served_.peer_host, answers);
}

grpc::Status GrpcRequest::End(const absl::Status& status) {
  ApiError error;
  if (!status.ok()) error = NoteError(status, served_);
  served_.record.status = status.ok() ? 200 : error.http_status;
  served_.record.client_gone = absl::IsCancelled(status);
  FinishRequest(served_, "gRPC", serving_.metrics);
  if (status.ok()) return grpc::Status::OK;
  context_.AddTrailingMetadata("x-request-id", served_.request_id);
  if (!error.code.empty()) context_.AddTrailingMetadata(kErrorCode, error.code);
  if (const std::string field = FieldOf(status); !field.empty()) context_.AddTrailingMetadata(kErrorField, field);
  if (error.retry_after_seconds > 0) {
    context_.AddTrailingMetadata("grpc-retry-pushback-ms", fmt::to_string(error.retry_after_seconds * 1000));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), error.message);
}

ModelCall GrpcRequest::MakeCall(const std::string& model, const std::string& user) const {
  ModelCall call;
  call.model = model;
  call.sticky = StickyOf(served_.key.get(), user);
  call.deadline = deadline_;
  call.request_id = served_.request_id;
  call.caller = CallerOf(served_.key.get(), served_.peer_host);
  return call;
}

}  // namespace inferd::gateway
