// Status of our code as gRPC sends it; the codes are the same numbers.
//
//   return Finish(ToGrpc(status, *context));
#pragma once

#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"

namespace inferd::worker {

// Only a refusal that time mends is RESOURCE_EXHAUSTED (refusal.h). Where the engine told when there may be room again,
// the trailer says so (gRFC A6: grpc-retry-pushback-ms); another one says that a deadline is too short
// (proto/call_metadata.h).
grpc::Status ToGrpc(const absl::Status& status, grpc::CallbackServerContext& context);

}  // namespace inferd::worker
