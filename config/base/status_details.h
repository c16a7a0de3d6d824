// What a status carries beside code and text: the time to retry after, a code of the HTTP API's. Each is a payload,
// kept by Annotate and lost only where somebody makes a new status.
//
//   SetRetryAfter(status, 2.5);
//   ...
//   const double seconds = RetryAfterSeconds(status).value_or(1);
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inferd {

// Seconds after which a retry has a chance; nullopt where nobody told. OK carries nothing.
void SetRetryAfter(absl::Status& status, double seconds);
std::optional<double> RetryAfterSeconds(const absl::Status& status);

// A code of the error table (gateway/serving/errors.h) other than the first of its row; empty: that one.
void SetErrorCode(absl::Status& status, std::string_view code);
std::string ErrorCodeOf(const absl::Status& status);

// All that `from` carries, for a status that takes its place.
absl::Status WithDetailsOf(const absl::Status& from, absl::Status status);

}  // namespace inferd
