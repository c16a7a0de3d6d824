// The field `priority`, which all requests that wait in a model's queue have.
//
//   ASSIGN_OR_RETURN(v1::Priority priority, ReadPriority(fields));
#pragma once

#include "absl/status/statusor.h"
#include "gateway/json/fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// PRIORITY_UNSPECIFIED where it is absent. INVALID_ARGUMENT names the field.
absl::StatusOr<v1::Priority> ReadPriority(Fields& fields);

}  // namespace inferd::gateway
