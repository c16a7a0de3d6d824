// POST /v1/messages
#include "gateway/anthropic/endpoints.h"
#include "gateway/anthropic/message_answer.h"
#include "gateway/anthropic/messages_request.h"
#include "gateway/anthropic/version.h"
#include "gateway/api/respond.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

Task<void> ServeMessages(const Serving& serving, Exchange& exchange) {
  const absl::StatusOr<std::vector<std::string>> version = ReadVersion(exchange.request);
  if (!version.ok()) co_return co_await RespondError(exchange, version.status());
  absl::StatusOr<MessagesRequest> messages = co_await ParseBody(serving, exchange.request.body, ParseMessagesRequest);
  if (!messages.ok()) co_return co_await RespondError(exchange, messages.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, messages->model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  std::string().swap(exchange.request.body);
  messages->warnings.insert(messages->warnings.begin(), version->begin(), version->end());

  v1::GenerateRequest& request = messages->generate;
  request.set_model(*model);
  request.set_request_id(exchange.request_id);
  MessageAnswer answer({.id = MakeAnswerId("msg_"),
                        .model = *model,
                        .warnings = messages->warnings,
                        .names = messages->names,
                        .max_tokens = request.limits().max_tokens(),
                        .omits_thinking = messages->omits_thinking});
  std::vector<v1::GenerateRequest> requests;
  requests.push_back(std::move(request));
  co_await ServeGeneration(serving, exchange, std::move(requests), messages->options, answer);
}

}  // namespace inferd::gateway
