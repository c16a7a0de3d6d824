// POST /v1/messages/count_tokens: the fields of a request for a message -> {"input_tokens"}
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "config/base/status.h"
#include "gateway/anthropic/endpoints.h"
#include "gateway/anthropic/messages_request.h"
#include "gateway/anthropic/version.h"
#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/json/valid_text.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

Task<void> ServeCountTokens(const Serving& serving, Exchange& exchange) {
  const absl::StatusOr<std::vector<std::string>> version = ReadVersion(exchange.request);
  if (!version.ok()) co_return co_await RespondError(exchange, version.status());
  absl::StatusOr<MessagesRequest> messages =
      co_await ParseBody(serving, exchange.request.body, ParseCountTokensRequest);
  if (!messages.ok()) co_return co_await RespondError(exchange, messages.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, messages->model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  messages->warnings.insert(messages->warnings.begin(), version->begin(), version->end());
  v1::GenerateRequest& request = messages->generate;
  request.set_model(*model);
  request.set_request_id(exchange.request_id);
  auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                   v1::ValidateResponse* response, std::function<void(grpc::Status)> done) {
    worker.inference->async()->Validate(context.get(), &request, response, std::move(done));
  };
  const TimePoint deadline =
      messages->options.deadline ? exchange.arrived + *messages->options.deadline : TimePoint::max();
  absl::StatusOr<v1::ValidateResponse> valid = co_await CallModel<v1::ValidateResponse>(
      serving.upstream, MakeModelCall(exchange, *model, request, deadline), exchange.executor(), start);
  if (!valid.ok()) co_return co_await RespondError(exchange, messages->names.Rename(valid.status()));
  for (const v1::Warning& warning : valid->warnings()) {
    messages->warnings.push_back(ShownWarning(warning, messages->names.NameOf(warning.field())));
  }
  boost::json::object body{{"input_tokens", valid->prompt_tokens()}};
  if (!messages->warnings.empty()) body["warnings"] = boost::json::value_from(messages->warnings);
  Response response;
  response.body = boost::json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
