// The one table of errors: absl::Status and grpc::Status to what HTTP clients see.
//
//   co_await exchange.Respond(ErrorResponse(ToApiError(status)));
//
// | status code         | HTTP | code                     | when                                                   |
// |---------------------|------|--------------------------|--------------------------------------------------------|
// | INVALID_ARGUMENT    | 400  | (null)                   | malformed, wrong type or range; `param` names the field|
// | FAILED_PRECONDITION | 400  | (null)                   | the model cannot do that                               |
// | OUT_OF_RANGE        | 400  | context_length_exceeded  | prompt too long                                        |
// | UNAUTHENTICATED     | 401  | invalid_api_key          | key missing or wrong                                   |
// | PERMISSION_DENIED   | 403  | model_not_allowed        | the key may not use this model                         |
// | NOT_FOUND           | 404  | model_not_found          | unknown model                                          |
// | RESOURCE_EXHAUSTED  | 429  | queue_full               | queue limit                                            |
// |                     |      | deadline_too_short       | the wait, or the prompt, takes longer than it leaves   |
// |                     |      | rate_limit_exceeded      | too many requests of a key or an address               |
// | CANCELLED           | 499  | cancelled                | the client left                                        |
// | UNIMPLEMENTED       | 501  | not_implemented          | the worker cannot do that                              |
// | UNAVAILABLE         | 503  | model_unavailable        | loading, draining, restarting                          |
// | DEADLINE_EXCEEDED   | 504  | deadline_exceeded        | deadline passed                                        |
// | others              | 500  | internal_error           | message withheld, request id instead                   |
// Errors of HTTP itself (405, 408, 413, 415, 417, 431, 505) and 503 overloaded (too many bodies at a time) are made by
// HttpError(). Over gRPC the code is the trailer inferd-error-code (proto/call_metadata.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gateway/http/message.h"

namespace inferd::gateway {

struct ApiError {
  int http_status = 500;
  // "invalid_request_error", "authentication_error", ...
  std::string type;
  // Empty: null.
  std::string code;
  // Valid UTF-8.
  std::string message;
  // Request field at fault; empty: null.
  std::string param;
  // Seconds for Retry-After; 0: none.
  int retry_after_seconds = 0;
};

// A message of the form "field: what is wrong" gives `param`, where the prefix looks like the name of a field.
ApiError ToApiError(const absl::Status& status);

// A field of the contract, and what it is called over HTTP.
struct FieldName {
  std::string_view ours;
  std::string_view theirs;
};
// The same status with the field at the start of its message as the client calls it: the first that fits, whole or up
// to a dot or bracket.
absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names);

// An error of HTTP itself, or one with a code of its own.
ApiError HttpError(int http_status, std::string_view message, std::string_view code = "");

// {"error":{"message","type","param","code"}}
std::string ErrorBody(const ApiError& error);

// With WWW-Authenticate for 401 and Retry-After where it is known.
Response ErrorResponse(const ApiError& error);

// Marks a status with the time after which a retry has a chance; ToApiError() gives it back.
void SetRetryAfter(absl::Status& status, int seconds);
std::optional<int> RetryAfter(const absl::Status& status);

// Gives a status the one of its row's codes that is not the first.
void SetErrorCode(absl::Status& status, std::string_view code);

}  // namespace inferd::gateway
