// POST /detokenize: {"model"?, "tokens": [...], "with_special"?} -> {"content": "..."}
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <string>
#include <vector>

#include "config/base/json_string.h"
#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/detokenize_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

Task<void> ServeDetokenize(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<DetokenizeFields> parsed = co_await ParseBody(serving, exchange.request.body, ParseDetokenizeRequest);
  if (!parsed.ok()) co_return co_await RespondError(exchange, parsed.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, parsed->model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  parsed->detokenize.set_model(*model);
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::DetokenizeResponse* response, std::function<void(grpc::Status)> done) {
    worker.inference->async()->Detokenize(context.get(), &parsed->detokenize, response, std::move(done));
  };
  absl::StatusOr<v1::DetokenizeResponse> answer = co_await CallModel<v1::DetokenizeResponse>(
      serving.upstream, MakeModelCall(exchange, *model, parsed->detokenize), exchange.executor(), start);
  if (!answer.ok()) {
    static constexpr FieldName kNames[] = {{"ids", "tokens"}};
    co_return co_await RespondError(exchange, WithFieldNames(answer.status(), kNames));
  }
  Response response;
  response.body = "{\"content\":";
  AppendJsonString(answer->text(), response.body);  // ids may end within a character: U+FFFD
  if (!parsed->warnings.empty()) {
    response.body += ",\"warnings\":" + boost::json::serialize(boost::json::value_from(parsed->warnings));
  }
  response.body.push_back('}');
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
