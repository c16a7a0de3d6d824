// What the end of a call to a worker means.
//
//   CallEnd end = ReadEnd(status, context);
//   if (end.outcome == CallOutcome::kWorkerLost && end.begun) ...   // perhaps it died of this call
#pragma once

#include "absl/status/status.h"

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace inferd::gateway {

enum class CallOutcome {
  // The worker said how it ended (OK or an error of its own).
  kAnswered,
  // The connection broke after the call was sent: the worker died, perhaps of this call.
  kWorkerLost,
  // The worker could not be reached; it has not seen the call.
  kNotReached,
};

struct CallEnd {
  CallOutcome outcome = CallOutcome::kAnswered;
  // With the time to retry after, where the worker told it.
  absl::Status status;
  // The worker had begun to work on what the request says (proto/call_metadata.h).
  bool begun = false;
};

CallEnd ReadEnd(const grpc::Status& status, const grpc::ClientContext& context);

}  // namespace inferd::gateway
