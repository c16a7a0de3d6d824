#include "gateway/api/respond.h"

#include <fmt/format.h>

#include "gateway/serving/serving.h"

namespace inferd::gateway {

Response ErrorResponse(const ApiForm& form, const ApiError& error, std::string_view request_id) {
  Response response;
  response.status = error.http_status;
  response.body = form.error_body(error, request_id);
  if (error.http_status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", fmt::to_string(error.retry_after_seconds));
  }
  return response;
}

Task<void> RespondError(Exchange& exchange, absl::Status status) {
  ApiError error = NoteError(status, exchange);
  co_await exchange.Respond(ErrorResponse(*exchange.form, error, exchange.request_id));
  // The kernel takes an answer that nobody will read.
  if (absl::IsCancelled(status)) exchange.record.client_gone = true;
}

}  // namespace inferd::gateway
