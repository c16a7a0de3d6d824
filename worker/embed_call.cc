// Submit runs on one of the preparation's threads, Answer on the engine's.
#include "worker/embed_call.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/base/log.h"
#include "config/base/status.h"
#include "engine/sampling/exp.h"
#include "worker/call_deadline.h"
#include "worker/grpc_status.h"
#include "worker/priority.h"
#include "worker/prompt.h"
#include "worker/prompt_length.h"
#include "worker/request_id.h"
#include "worker/request_memory.h"

namespace inferd::worker {
namespace {

constexpr int kMostInputs = 100'000;
constexpr int kMostDocuments = 1024;  // each is computed together with the query, which may fill the context
constexpr size_t kMostQueryBytes = size_t{16} << 20;  // read with all documents together
// How long the engine waits until the client knows whom to blame, should the first pass kill the process.
constexpr Milliseconds kMostWaitUntilTold{50};

}  // namespace

float Probability(float score) { return static_cast<float>(1 / (1 + sampling::Exp(-double{score}))); }

void FinishVector(std::vector<float>& vector, size_t dimensions, bool normalize) {
  if (dimensions != 0) vector.resize(dimensions);
  if (!normalize) return;
  double sum = 0;
  for (float value : vector) sum += double{value} * value;
  if (sum == 0) return;
  const double length = std::sqrt(sum);
  for (float& value : vector) value = static_cast<float>(value / length);
}

grpc::ServerUnaryReactor* EmbedCall::Start(const LoadedModel& model, ServiceThreads& threads,
                                           grpc::CallbackServerContext& context, const v1::EmbedRequest& request,
                                           v1::EmbedResponse& response) {
  auto* call = new EmbedCall(model, threads, context, request, response);
  const size_t bytes = request.ByteSizeLong() + request.query().size() * static_cast<size_t>(request.inputs_size());
  const absl::Status taken = threads.preparation.Run(bytes, [call] {
    if (const absl::Status status = call->Submit(); !status.ok()) call->End(status);
  });
  if (!taken.ok()) call->End(taken);
  return call;
}

bool EmbedCall::HasItsTurn() const {
  const engine::Statistics now = model_.engine->Stats();
  return now.requests_running + now.requests_waiting == 0;
}

// One sign is all that a unary call has: where others come first, it is for the end of the wait and not for the
// reading.
absl::Status EmbedCall::Submit() {
  const bool has_its_turn = HasItsTurn();
  if (has_its_turn) {
    TellBegun();
    WaitUntilTold();
  }
  const size_t width = static_cast<size_t>(forward::PooledSize(model_.model->spec()));
  if (request_.dimensions() > width) {
    return InvalidField("dimensions", "{} is not in [0, {}]", request_.dimensions(), width);
  }
  if (request_.has_query() && !model_.can_rank()) {
    return AtField("query", FailedPrecondition("the model {} has no head that ranks documents", model_.options.name));
  }
  const int most_inputs = request_.has_query() ? kMostDocuments : kMostInputs;
  if (request_.inputs().empty() || request_.inputs_size() > most_inputs) {
    return InvalidField("inputs", "{} inputs, expected 1 to {}", request_.inputs_size(), most_inputs);
  }
  if (request_.query().size() > kMostQueryBytes / static_cast<size_t>(request_.inputs_size())) {
    return InvalidField("query", "{} bytes with each of {} documents are too many, expected at most {} in all",
                        request_.query().size(), request_.inputs_size(), kMostQueryBytes);
  }
  engine::EmbeddingRequest request{.cancelled = cancelled_};
  ASSIGN_OR_RETURN(request.priority, ReadPriority(request_.priority()));
  RETURN_IF_ERROR(threads_.memory->Within([&] { return ReadInputs(request); }));
  ASSIGN_OR_RETURN(request.deadline,
                   EarlierDeadline(request_.has_deadline_ms(), request_.deadline_ms(), context_, arrival_));
  if (!has_its_turn) {
    request.begun = [this] {
      TellBegun();
      WaitUntilTold(kMostWaitUntilTold);
    };
  }
  request.done = [this](absl::StatusOr<engine::Vectors> vectors) { End(Answer(std::move(vectors))); };
  return model_.engine->Embed(std::move(request));
}

absl::Status EmbedCall::ReadInputs(engine::EmbeddingRequest& request) {
  for (int i = 0; i < request_.inputs_size(); ++i) {
    if (*cancelled_) return Cancelled("the request was cancelled");
    if (request_.has_query()) {
      ASSIGN_OR_RETURN(RankingTokens prompt, ReadDocument(i));
      request.inputs.push_back(std::move(prompt.ids));
      request.second_texts.push_back(prompt.document.value_or(forward::kOneText));
    } else {
      ASSIGN_OR_RETURN(request.inputs.emplace_back(), ReadInput(i));
    }
    prompt_tokens_ += static_cast<uint32_t>(request.inputs.back().size());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> EmbedCall::ReadInput(int index) const {
  const v1::EmbedInput& input = request_.inputs(index);
  const size_t most = static_cast<size_t>(engine::WindowTokens(model_.engine->limits()));
  std::vector<int32_t> tokens;
  switch (input.input_case()) {
    case v1::EmbedInput::kText: {
      if (!request_.truncate()) {
        RETURN_IF_ERROR(CheckTextLength(fmt::format("inputs[{}]", index), input.text().size(), *model_.tokenizer,
                                        model_.engine->limits()));
      }
      ASSIGN_OR_RETURN(tokens, EncodeText(model_, fmt::format("inputs[{}]", index), input.text(), /*add_special=*/true,
                                          /*parse_special=*/false));
      break;
    }
    case v1::EmbedInput::kTokens:
      tokens.assign(input.tokens().ids().begin(), input.tokens().ids().end());
      break;
    case v1::EmbedInput::INPUT_NOT_SET:
      return InvalidField(fmt::format("inputs[{}]", index), "one of text and tokens must be set");
  }
  if (request_.truncate() && tokens.size() > most) tokens.resize(most);
  return tokens;
}

// The first document that does not fit ends the call here, before the others are read.
absl::StatusOr<RankingTokens> EmbedCall::ReadDocument(int index) const {
  const v1::EmbedInput& input = request_.inputs(index);
  if (!input.has_text())
    return InvalidField(fmt::format("inputs[{}]", index), "is not a text, which a document must be");
  const engine::RequestLimits& limits = model_.engine->limits();
  const size_t most_tokens = request_.truncate() ? static_cast<size_t>(engine::WindowTokens(limits)) : 0;
  absl::StatusOr<RankingTokens> prompt =
      RankingPrompt(*model_.tokenizer, model_.rank_template, request_.query(), input.text(), most_tokens);
  if (!prompt.ok()) {
    const bool by_query = !model_.tokenizer->Encode(request_.query(), {}).ok();
    return AtField(by_query ? "query" : fmt::format("inputs[{}]", index), prompt.status());
  }
  if (const auto tokens = static_cast<int64_t>(prompt->ids.size()); tokens > engine::WindowTokens(limits)) {
    const std::string window = engine::WindowText(limits);
    if (most_tokens != 0) {  // no document is short enough
      return AtField("query", OutOfRange("{}, but the query alone has {} tokens", window, tokens));
    }
    return AtField(fmt::format("inputs[{}]", index),
                   OutOfRange("{}, but query and document together have {} tokens", window, tokens));
  }
  return prompt;
}

absl::Status EmbedCall::Answer(absl::StatusOr<engine::Vectors> vectors) {
  RETURN_IF_ERROR(vectors.status());
  const bool normalize = !request_.has_normalize() || request_.normalize();
  const bool ranks = model_.can_rank();
  const model::RankSpec& rank = model_.model->spec().rank;
  const bool is_logit = ranks && rank.classes == 1 && !rank.softmax;
  for (std::vector<float>& vector : *vectors) {
    for (float value : vector) {
      if (!std::isfinite(value)) return Internal("the model's vector of an input is not finite");
    }
    FinishVector(vector, request_.dimensions(), normalize && !ranks);
    if (normalize && is_logit) vector[0] = Probability(vector[0]);
    response_.add_embeddings()->mutable_values()->Add(vector.begin(), vector.end());
  }
  response_.mutable_usage()->set_prompt_tokens(prompt_tokens_);
  response_.set_fingerprint(model_.fingerprint());
  response_.set_model(model_.options.name);
  return absl::OkStatus();
}

// The call may be gone when this returns.
void EmbedCall::End(const absl::Status& status) {
  LogInfo("request",
          {{"request_id", RequestIdOf(request_.request_id(), context_)},
           {"model", model_.options.name},
           {"inputs", request_.inputs_size()},
           {"prompt_tokens", prompt_tokens_},
           {"duration_ms", std::chrono::duration<double, std::milli>(Clock::System().Now() - arrival_).count()},
           {"status", absl::StatusCodeToString(status.code())}});
  Finish(ToGrpc(status, context_));
}

}  // namespace inferd::worker
