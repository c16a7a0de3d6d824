#include "worker/priority.h"

#include "config/base/status.h"

namespace inferd::worker {

absl::StatusOr<scheduler::Priority> ReadPriority(v1::Priority priority) {
  switch (priority) {
    case v1::PRIORITY_UNSPECIFIED:
    case v1::PRIORITY_NORMAL:
      return scheduler::Priority::kNormal;
    case v1::PRIORITY_HIGH:
      return scheduler::Priority::kHigh;
    case v1::PRIORITY_LOW:
      return scheduler::Priority::kLow;
    case v1::PRIORITY_BATCH:
      return scheduler::Priority::kBatch;
    default:
      return InvalidField("priority", "{} is not a value of Priority", static_cast<int>(priority));
  }
}

}  // namespace inferd::worker
