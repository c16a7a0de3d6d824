// POST /apply-template: the fields of a chat request -> {"prompt": "..."}, the text that the model would be given
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <string>
#include <vector>

#include "config/base/json_string.h"
#include "config/base/status.h"
#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/apply_template_request.h"
#include "gateway/openai/requests/chat_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

Task<void> ServeApplyTemplate(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<ApplyTemplateFields> parsed =
      co_await ParseBody(serving, exchange.request.body, ParseApplyTemplateRequest);
  if (!parsed.ok()) co_return co_await RespondError(exchange, parsed.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, parsed->model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  parsed->apply.set_model(*model);
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::ApplyTemplateResponse* response, std::function<void(grpc::Status)> done) {
    worker.inference->async()->ApplyTemplate(context.get(), &parsed->apply, response, std::move(done));
  };
  absl::StatusOr<v1::ApplyTemplateResponse> answer = co_await CallModel<v1::ApplyTemplateResponse>(
      serving.upstream, MakeModelCall(exchange, *model, parsed->apply), exchange.executor(), start);
  if (!answer.ok()) co_return co_await RespondError(exchange, WithFieldNames(answer.status(), ChatFieldNames()));
  for (const v1::Warning& warning : answer->warnings()) {
    parsed->warnings.push_back(ShownWarning(warning, ClientName(warning.field(), ChatFieldNames())));
  }
  Response response;
  response.body = "{\"prompt\":";
  AppendJsonString(answer->text(), response.body);
  if (!parsed->warnings.empty()) {
    response.body += ",\"warnings\":" + boost::json::serialize(boost::json::value_from(parsed->warnings));
  }
  response.body.push_back('}');
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
