// See the header.
#include "worker/grpc_status.h"

#include <algorithm>
#include <cmath>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "engine/generation/refusal.h"
#include "proto/call_metadata.h"

namespace inferd::worker {

grpc::Status ToGrpc(const absl::Status& status, grpc::CallbackServerContext& context) {
  if (status.ok()) return grpc::Status::OK;
  if (const std::optional<double> seconds = RetryAfterSeconds(status)) {
    const double milliseconds = std::clamp(std::ceil(*seconds * 1000), 1.0, 3.6e6);
    context.AddTrailingMetadata("grpc-retry-pushback-ms", fmt::format("{:.0f}", milliseconds));
  }
  if (engine::IsDeadlineTooShort(status)) context.AddTrailingMetadata(kErrorCode, kDeadlineTooShort);
  if (const std::string field = FieldOf(status); !field.empty()) context.AddTrailingMetadata(kErrorField, field);
  const absl::Status told = engine::ToPermanent(status);
  return {static_cast<grpc::StatusCode>(told.code()), std::string(TextOf(told))};
}

}  // namespace inferd::worker
