// The one table of errors: absl::Status and grpc::Status to what clients see.
//
//   const ApiError error = ToApiError(status);
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

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inferd::v1 {
class Finished;
}

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

ApiError ToApiError(const absl::Status& status);

// An error of HTTP itself, or one with a code of its own.
ApiError HttpError(int http_status, std::string_view message, std::string_view code = "");

// Why a choice failed, or OK.
absl::Status ErrorOf(const v1::Finished& finished);

}  // namespace inferd::gateway
