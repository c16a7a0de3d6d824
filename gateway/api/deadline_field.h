// The field `deadline_ms`, which all requests that a model computes have.
//
//   ASSIGN_OR_RETURN(std::optional<std::chrono::milliseconds> deadline, ReadDeadline(fields));
#pragma once

#include <chrono>
#include <optional>

#include "absl/status/statusor.h"
#include "gateway/json/fields.h"

namespace inferd::gateway {

// From the request's arrival; nullopt where it is absent. INVALID_ARGUMENT names the field.
absl::StatusOr<std::optional<std::chrono::milliseconds>> ReadDeadline(Fields& fields);

}  // namespace inferd::gateway
