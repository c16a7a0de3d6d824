#include "gateway/routing/call_status.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "proto/call_metadata.h"

namespace inferd::gateway {
namespace {

// How gRPC 1.51 begins the messages of the UNAVAILABLE that it makes itself when a connection breaks (a worker's own
// UNAVAILABLE says something else); a test kills a real peer to see that they still hold.
constexpr std::array<std::string_view, 7> kLostMessages = {
    "Socket closed", "Connection reset by peer", "recvmsg:", "Broken pipe", "Stream removed", "GOAWAY", "Endpoint",
};
constexpr std::array<std::string_view, 3> kNotReachedMessages = {
    "failed to connect",
    "empty address list",
    "DNS resolution failed",
};

template <size_t N>
bool ContainsAny(std::string_view message, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return message.find(part) != std::string_view::npos; });
}

// gRFC A6: the server says when to come back.
int PushbackSeconds(const grpc::ClientContext& context) {
  const auto& trailer = context.GetServerTrailingMetadata();
  auto found = trailer.find("grpc-retry-pushback-ms");
  if (found == trailer.end()) return 0;
  int64_t milliseconds = 0;
  std::string_view text(found->second.data(), found->second.size());
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (parsed.ec != std::errc() || milliseconds <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((milliseconds + 999) / 1000, 3600));
}

}  // namespace

CallEnd ReadEnd(const grpc::Status& status, const grpc::ClientContext& context) {
  CallEnd end;
  if (status.ok()) return end;
  end.begun = context.GetServerInitialMetadata().contains(kWorkBegun);
  end.status = absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    if (ContainsAny(status.error_message(), kNotReachedMessages)) {
      end.outcome = CallOutcome::kNotReached;
    } else if (ContainsAny(status.error_message(), kLostMessages)) {
      end.outcome = CallOutcome::kWorkerLost;
    }
  }
  // It may be the worker or our own end of the call that saw it first.
  if (absl::IsDeadlineExceeded(end.status)) end.status = absl::DeadlineExceededError("the request's deadline passed");
  // Text of gRPC about sockets and addresses is nothing for clients.
  if (end.outcome != CallOutcome::kAnswered) end.status = absl::UnavailableError("the model is restarting");
  if (int seconds = PushbackSeconds(context); seconds > 0) SetRetryAfter(end.status, seconds);
  const auto code = context.GetServerTrailingMetadata().find(kErrorCode);
  if (code != context.GetServerTrailingMetadata().end() && code->second == kDeadlineTooShort) {
    SetErrorCode(end.status, kDeadlineTooShort);
  }
  const auto field = context.GetServerTrailingMetadata().find(kErrorField);
  if (field != context.GetServerTrailingMetadata().end() && end.outcome == CallOutcome::kAnswered) {
    end.status = WithField(std::move(end.status), {field->second.data(), field->second.size()});
  }
  return end;
}

}  // namespace inferd::gateway
