// POST /v1/chat/completions
#include "gateway/api/respond.h"
#include "gateway/api/serve_generation.h"
#include "gateway/openai/answers/chat_answer.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/chat_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

Task<void> ServeChatCompletions(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<ChatRequest> chat = co_await ParseBody(serving, exchange.request.body, ParseChatRequest);
  if (!chat.ok()) co_return co_await RespondError(exchange, chat.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, chat->common.model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  std::string().swap(exchange.request.body);  // not needed any more, and as large as the client liked

  v1::GenerateRequest& request = chat->generate;
  request.set_model(*model);
  request.set_request_id(exchange.request_id);
  AnswerOptions options;
  options.id = MakeAnswerId("chatcmpl-");
  options.created_unix_seconds = UnixNow();
  options.model = *model;
  options.warnings = chat->warnings;
  options.constraint_name = chat->common.constraint_name;
  options.include_usage = chat->common.include_usage;
  options.return_token_ids = chat->common.return_token_ids;
  options.choices = request.choices();
  ChatAnswer answer(std::move(options), request.has_logprobs());
  std::vector<v1::GenerateRequest> requests;
  requests.push_back(std::move(request));
  co_await ServeGeneration(serving, exchange, std::move(requests), chat->common, answer);
}

}  // namespace inferd::gateway
