#include "gateway/openai/form.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "gateway/serving/errors.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::value NullIfEmpty(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(json::string_view(text.data(), text.size()));
}

// {"error":{"message","type","param","code"}}
std::string ErrorBody(const ApiError& error, std::string_view) {
  json::object inner;
  inner["message"] = json::string_view(error.message);
  inner["type"] = json::string_view(error.type);
  inner["param"] = NullIfEmpty(error.param);
  inner["code"] = NullIfEmpty(error.code);
  json::object outer;
  outer["error"] = std::move(inner);
  return json::serialize(outer);
}

}  // namespace

const ApiForm& OpenAiForm() {
  static constexpr ApiForm kForm = {.error_body = ErrorBody,
                                    .stream_type = "text/event-stream; charset=utf-8",
                                    .filler = ": still working\n\n",
                                    .error_start = "data: ",
                                    .error_end = "\n\n"};
  return kForm;
}

}  // namespace inferd::gateway
