#include "gateway/grpc/grpc_request.h"

#include <fmt/format.h>

#include "config/base/status.h"
#include "gateway/auth/access.h"
#include "gateway/http/request_id.h"
#include "gateway/openai/errors.h"
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
  id_ = MakeRequestId(metadata_id);
  record_.endpoint = "grpc " + method;
}

void GrpcRequest::OfferId(const std::string& offered) {
  if (!id_is_given_) id_ = MakeRequestId(offered);
}

absl::Status GrpcRequest::Admit(Access& access, const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  RETURN_IF_ERROR(CheckServing(serving_));
  ASSIGN_OR_RETURN(key_, access.Check(Metadata(context_, "authorization"), PeerHost(context_.peer())));
  if (key_ != nullptr) record_.key_name = key_->name;
  return ParseMessage(bytes, share_, message);
}

bool GrpcRequest::MaySee(const std::string& model) const { return key_ == nullptr || key_->MayUse(model); }

absl::StatusOr<std::string> GrpcRequest::Resolve(const std::string& named) {
  ASSIGN_OR_RETURN(record_.model, ResolveModel(serving_, key_.get(), named));
  return record_.model;
}

void GrpcRequest::CountAnswers(Access& access, uint64_t answers) const {
  access.CountAnswers(key_.get(), PeerHost(context_.peer()), answers);
}

grpc::Status GrpcRequest::End(const absl::Status& status) {
  ApiError error;
  if (!status.ok()) error = NoteError(status, id_, record_);
  record_.status = status.ok() ? 200 : error.http_status;
  record_.client_gone = absl::IsCancelled(status);
  FinishRequest(record_, id_, "gRPC", arrived_, serving_.metrics);
  if (status.ok()) return grpc::Status::OK;
  context_.AddTrailingMetadata("x-request-id", id_);
  if (!error.code.empty()) context_.AddTrailingMetadata(kErrorCode, error.code);
  if (error.retry_after_seconds > 0) {
    context_.AddTrailingMetadata("grpc-retry-pushback-ms", fmt::to_string(error.retry_after_seconds * 1000));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), error.message);
}

ModelCall GrpcRequest::MakeCall(const std::string& model, const std::string& user) const {
  ModelCall call;
  call.model = model;
  call.sticky = StickyOf(key_.get(), user);
  call.deadline = deadline_;
  call.request_id = id_;
  call.caller = CallerOf(key_.get(), PeerHost(context_.peer()));
  return call;
}

}  // namespace inferd::gateway
