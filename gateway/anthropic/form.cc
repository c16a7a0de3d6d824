#include "gateway/anthropic/form.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "gateway/serving/errors.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

std::string_view ErrorType(int http_status) {
  switch (http_status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return http_status < 500 ? "invalid_request_error" : "api_error";
  }
}

json::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

std::string ErrorBody(const ApiError& error, std::string_view request_id) {
  // By these words clients tell this error from others.
  const std::string message =
      error.code == "context_length_exceeded" ? "prompt is too long: " + error.message : error.message;
  json::object inner{{"type", Text(ErrorType(error.http_status))}, {"message", message}};
  return json::serialize(
      json::object{{"type", "error"}, {"error", std::move(inner)}, {"request_id", Text(request_id)}});
}

}  // namespace

const ApiForm& AnthropicForm() {
  static constexpr ApiForm kForm = {.error_body = ErrorBody,
                                    .stream_type = "text/event-stream; charset=utf-8",
                                    .filler = "event: ping\ndata: {\"type\":\"ping\"}\n\n",
                                    .error_start = "event: error\ndata: ",
                                    .error_end = "\n\n",
                                    .request_id_header = "request-id"};
  return kForm;
}

}  // namespace inferd::gateway
