#include "gateway/api/priority_field.h"

#include "config/base/status.h"

namespace inferd::gateway {

absl::StatusOr<v1::Priority> ReadPriority(Fields& fields) {
  ASSIGN_OR_RETURN(const std::optional<std::string> priority, fields.String("priority", 16));
  if (!priority) return v1::PRIORITY_UNSPECIFIED;
  if (*priority == "high") return v1::PRIORITY_HIGH;
  if (*priority == "normal") return v1::PRIORITY_NORMAL;
  if (*priority == "low") return v1::PRIORITY_LOW;
  if (*priority == "batch") return v1::PRIORITY_BATCH;
  return InvalidField("priority", "'{}' is not high, normal, low or batch", *priority);
}

}  // namespace inferd::gateway
