#include "gateway/openai/answers/error_body.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::value NullIfEmpty(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string_view(text.data(), text.size()));
}

}  // namespace

std::string ErrorBody(const ApiError& error) {
  json::object inner;
  inner["message"] = json::string_view(error.message);
  inner["type"] = json::string_view(error.type);
  inner["param"] = NullIfEmpty(error.param);
  inner["code"] = NullIfEmpty(error.code);
  json::object outer;
  outer["error"] = std::move(inner);
  return json::serialize(outer);
}

Response ErrorResponse(const ApiError& error) {
  Response response;
  response.status = error.http_status;
  response.body = ErrorBody(error);
  if (error.http_status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.retry_after_seconds > 0) {
    response.headers.emplace_back("Retry-After", fmt::to_string(error.retry_after_seconds));
  }
  return response;
}

Task<void> RespondError(Exchange& exchange, absl::Status status) {
  ApiError error = NoteError(status, exchange);
  co_await exchange.Respond(ErrorResponse(error));
  // The kernel takes an answer that nobody will read.
  if (absl::IsCancelled(status)) exchange.record.client_gone = true;
}

absl::Status WithFieldNames(const absl::Status& status, std::span<const FieldName> names) {
  const std::string_view message = MessageOf(status);
  for (const FieldName& name : names) {
    if (!message.starts_with(name.ours) || message.size() == name.ours.size()) continue;
    const std::string_view rest = message.substr(name.ours.size());
    if (rest.front() != '.' && rest.front() != '[' && !rest.starts_with(": ")) continue;
    return WithDetailsOf(status, absl::Status(status.code(), fmt::format("{}{}", name.theirs, rest)));
  }
  return status;
}

absl::Status WithConstraintName(const absl::Status& status, std::string_view name) {
  if (name.empty()) return status;
  const FieldName names[] = {{"constraint.json_schema", name}, {"constraint.regex", name},
                             {"constraint.grammar", name},     {"constraint.choice", name},
                             {"constraint.json_object", name}, {"constraint", name}};
  return WithFieldNames(status, names);
}

}  // namespace inferd::gateway
