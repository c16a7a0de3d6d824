// Errors in the form of the API that the request came by.
//
//   if (!model.ok()) co_return co_await RespondError(exchange, model.status());
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "gateway/http/api_form.h"
#include "gateway/http/exchange.h"
#include "gateway/serving/errors.h"

namespace inferd::gateway {

// With WWW-Authenticate for 401 and Retry-After where it is known.
Response ErrorResponse(const ApiForm& form, const ApiError& error, std::string_view request_id);

// Answers with the error and notes it for log and metrics.
Task<void> RespondError(Exchange& exchange, absl::Status status);

}  // namespace inferd::gateway
