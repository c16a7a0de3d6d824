// Errors as clients of this API see them.
//
//   if (!model.ok()) co_return co_await RespondError(exchange, model.status());
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gateway/http/exchange.h"
#include "gateway/serving/errors.h"

namespace inferd::gateway {

// {"error":{"message","type","param","code"}}
std::string ErrorBody(const ApiError& error);

// With WWW-Authenticate for 401 and Retry-After where it is known.
Response ErrorResponse(const ApiError& error);

// Answers with the error and notes it for log and metrics.
Task<void> RespondError(Exchange& exchange, absl::Status status);

// A field of the contract, and what it is called over HTTP.
struct FieldName {
  std::string_view ours;
  std::string_view theirs;
};
// The same status with the field at the start of its message as the client calls it: the first that fits, whole or up
// to a dot or bracket.
absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names);
// The same for the field that binds the output's form, whichever it was; empty: none.
absl::Status WithConstraintName(const absl::Status& status, std::string_view name);

}  // namespace inferd::gateway
