// POST /v1/completions
#include <fmt/format.h>

#include "gateway/api/field_names.h"
#include "gateway/api/respond.h"
#include "gateway/api/serve_generation.h"
#include "gateway/openai/answers/text_answer.h"
#include "gateway/openai/endpoints.h"
#include "gateway/openai/requests/completion_request.h"
#include "gateway/serving/parse_body.h"

namespace inferd::gateway {
namespace {

// The text of each prompt; those given as token ids are spelled by the model.
Task<absl::StatusOr<std::vector<std::string>>> EchoTexts(const Serving& serving, Exchange& exchange,
                                                         const std::vector<v1::GenerateRequest>& requests) {
  std::vector<std::string> texts;
  for (const v1::GenerateRequest& request : requests) {
    if (request.has_text()) {
      texts.push_back(request.text());
      continue;
    }
    v1::DetokenizeRequest detokenize;
    *detokenize.mutable_ids() = request.tokens().ids();
    detokenize.set_with_special(true);
    auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                     v1::DetokenizeResponse* response, std::function<void(grpc::Status)> done) {
      worker.inference->async()->Detokenize(context.get(), &detokenize, response, std::move(done));
    };
    absl::StatusOr<v1::DetokenizeResponse> answer = co_await CallModel<v1::DetokenizeResponse>(
        serving.upstream, MakeModelCall(exchange, request.model(), detokenize), exchange.executor(), start);
    if (!answer.ok()) co_return answer.status();
    texts.push_back(answer->text());
  }
  co_return texts;
}

// The first error of any prompt, so that nothing runs for a list that cannot be answered as a whole.
Task<absl::Status> CheckAll(const Serving& serving, Exchange& exchange, const CompletionRequest& completion) {
  const std::vector<v1::GenerateRequest>& requests = completion.generate;
  const auto& wait = completion.common.deadline;
  const TimePoint deadline = wait ? exchange.arrived + *wait : TimePoint::max();
  for (size_t i = 0; i < requests.size(); ++i) {
    if (exchange.client_gone()) co_return absl::CancelledError("the client is gone");
    auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                     v1::ValidateResponse* response, std::function<void(grpc::Status)> done) {
      worker.inference->async()->Validate(context.get(), &requests[i], response, std::move(done));
    };
    absl::StatusOr<v1::ValidateResponse> valid = co_await CallModel<v1::ValidateResponse>(
        serving.upstream, MakeModelCall(exchange, requests[i].model(), requests[i], deadline), exchange.executor(),
        start);
    if (valid.ok()) continue;
    const std::string place = fmt::format("prompt[{}]", i);
    const FieldName of_list[] = {{"prompt", place}};
    co_return WithFieldNames(
        WithFieldNames(WithConstraintName(valid.status(), completion.common.constraint_name), CompletionFieldNames()),
        of_list);
  }
  co_return absl::OkStatus();
}

AnswerOptions MakeOptions(const CompletionRequest& completion, const std::string& model) {
  AnswerOptions options;
  options.id = MakeAnswerId("cmpl-");
  options.created_unix_seconds = UnixNow();
  options.model = model;
  options.warnings = completion.warnings;
  options.constraint_name = completion.common.constraint_name;
  options.include_usage = completion.common.include_usage;
  options.return_token_ids = completion.common.return_token_ids;
  options.choices = completion.generate.front().choices();
  options.prompts = static_cast<uint32_t>(completion.generate.size());
  return options;
}

}  // namespace

Task<void> ServeCompletions(const Serving& serving, Exchange& exchange) {
  absl::StatusOr<CompletionRequest> completion =
      co_await ParseBody(serving, exchange.request.body, ParseCompletionRequest);
  if (!completion.ok()) co_return co_await RespondError(exchange, completion.status());
  absl::StatusOr<std::string> model = ResolveModel(serving, exchange, completion->common.model);
  if (!model.ok()) co_return co_await RespondError(exchange, model.status());
  std::string().swap(exchange.request.body);

  for (v1::GenerateRequest& request : completion->generate) {
    request.set_model(*model);
    request.set_request_id(exchange.request_id);
  }
  if (completion->generate.size() > 1) {
    absl::Status valid = co_await CheckAll(serving, exchange, *completion);
    if (!valid.ok()) co_return co_await RespondError(exchange, valid);
  }
  TextAnswer::Extras extras;
  extras.with_logprobs = completion->generate.front().has_logprobs();
  if (completion->echo) {
    absl::StatusOr<std::vector<std::string>> texts = co_await EchoTexts(serving, exchange, completion->generate);
    if (!texts.ok()) {
      co_return co_await RespondError(exchange, WithFieldNames(texts.status(), CompletionFieldNames()));
    }
    extras.echo = *std::move(texts);
  }
  TextAnswer answer(MakeOptions(*completion, *model), std::move(extras));
  co_await ServeGeneration(serving, exchange, std::move(completion->generate), completion->common, answer);
}

}  // namespace inferd::gateway
