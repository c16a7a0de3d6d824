#include "gateway/testing/stub_worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "proto/call_metadata.h"

namespace inferd::gateway {
namespace {

// Value of the word `name=value` in the prompt.
std::string Option(const std::string& prompt, const std::string& name, const std::string& otherwise = "") {
  std::istringstream words(prompt);
  for (std::string word; words >> word;) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return otherwise;
}

int NumberOption(const std::string& prompt, const std::string& name, int otherwise) {
  std::string text = Option(prompt, name);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

std::string PromptOf(const v1::GenerateRequest& request) {
  if (request.has_text()) return request.text();
  if (request.has_chat() && request.chat().messages_size() > 0) return request.chat().messages().rbegin()->content();
  return "";
}

uint32_t PromptTokens(const v1::GenerateRequest& request) {
  if (request.has_tokens()) return static_cast<uint32_t>(request.tokens().ids_size());
  return static_cast<uint32_t>(PromptOf(request).size());
}

void AddLogprob(const std::string& token, int id, uint32_t alternatives, v1::TokenLogprob* into) {
  into->set_token(token);
  into->set_token_id(id);
  into->set_logprob(-0.5f);
  for (uint32_t i = 0; i < alternatives; ++i) {
    v1::TokenLogprob* top = into->add_top();
    top->set_token(i == 0 ? token : fmt::format("alt{}", i));
    top->set_token_id(id + static_cast<int>(i));
    top->set_logprob(-0.5f - static_cast<float>(i));
  }
}

// When the stub says that it has rendered every prompt.
constexpr int64_t kRenderedUnixSeconds = 1'700'000'000;

// Takes as long as a step of an engine would.
void Compute(std::chrono::nanoseconds time) {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(absl::FromChrono(time));
}

// All calls go on together, as the sequences of an engine's step do.
void WaitForTick(std::chrono::microseconds tick) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  Compute(tick - now % tick);
}

// One call of Generate: what the prompt asks for, token by token.
class Script {
 public:
  Script(const StubOptions& options, const v1::GenerateRequest& request, grpc::ServerContext& context,
         grpc::ServerWriter<v1::GenerateEvent>& writer)
      : options_(options),
        request_(request),
        context_(context),
        writer_(writer),
        prompt_(PromptOf(request)),
        tokens_(NumberOption(prompt_, "tokens", 8)),
        limit_(request.limits().has_max_tokens() ? static_cast<int>(request.limits().max_tokens()) : 1 << 30) {}

  bool SendAccepted() {
    v1::GenerateEvent event;
    event.mutable_accepted()->set_prompt_tokens(PromptTokens(request_));
    event.mutable_accepted()->set_fingerprint(options_.fingerprint);
    event.mutable_accepted()->set_model(options_.model);
    event.mutable_accepted()->set_model_version(options_.version);
    event.mutable_accepted()->set_seed(request_.has_seed() ? request_.seed() : 7);
    event.mutable_accepted()->set_rendered_unix_seconds(kRenderedUnixSeconds);
    return writer_.Write(event);
  }

  // One token of every choice in turn, so that choices interleave.
  grpc::Status SendTokens() {
    const int fail_at = NumberOption(prompt_, "fail_at", -1);
    const int die_at = NumberOption(prompt_, "die_at", -1);
    const auto delay = std::chrono::microseconds(NumberOption(prompt_, "delay_us", 0));
    const auto tick = std::chrono::microseconds(NumberOption(prompt_, "tick_us", 0));
    const int count = std::min(tokens_, limit_);
    for (int i = 0; i < count; ++i) {
      if (delay.count() > 0) Compute(delay);
      if (tick.count() > 0) WaitForTick(tick);
      if (i == options_.withdraw_at) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the model is shutting down");
      if (i == die_at) kill(getpid(), SIGKILL);
      if (i == fail_at) return grpc::Status(static_cast<grpc::StatusCode>(NumberOption(prompt_, "fail", 13)), "failed");
      for (uint32_t choice = 0; choice < std::max(1u, request_.choices()); ++choice) {
        if (i < Delivered(choice)) continue;
        if (context_.IsCancelled() || !SendToken(choice, i)) return grpc::Status::CANCELLED;
      }
    }
    for (uint32_t choice = 0; choice < std::max(1u, request_.choices()); ++choice) SendFinished(choice, count);
    return grpc::Status::OK;
  }

 private:
  int Delivered(uint32_t choice) const {
    for (const v1::ResumeState& state : request_.resume_tokens()) {
      if (state.choice() == choice) return state.ids_size();
    }
    return 0;
  }

  bool SendToken(uint32_t choice, int index) {
    v1::GenerateEvent event;
    v1::Delta* delta = event.mutable_delta();
    std::string text = fmt::format("w{} ", index);
    delta->set_choice(choice);
    delta->set_kind(index < NumberOption(prompt_, "think", 0) ? v1::Delta::KIND_REASONING : v1::Delta::KIND_CONTENT);
    delta->set_text(text);
    delta->add_token_ids(index);
    if (request_.has_logprobs()) AddLogprob(text, index, request_.logprobs(), delta->add_logprobs());
    return writer_.Write(event);
  }

  void SendFinished(uint32_t choice, int count) {
    v1::GenerateEvent event;
    std::string call = Option(prompt_, "call");
    if (!call.empty()) {
      v1::ToolCallDelta* delta = event.mutable_delta()->mutable_tool_call();
      event.mutable_delta()->set_choice(choice);
      event.mutable_delta()->set_kind(v1::Delta::KIND_TOOL_CALL);
      delta->set_id("call_1");
      delta->set_name(call);
      delta->set_arguments("{\"city\":");
      writer_.Write(event);
      delta->clear_id();
      delta->clear_name();
      delta->set_arguments("\"Bonn\"}");
      writer_.Write(event);
    }
    v1::Finished* finished = event.mutable_finished();
    finished->set_choice(choice);
    finished->set_reason(!call.empty()       ? v1::Finished::REASON_TOOL_CALLS
                         : tokens_ <= limit_ ? v1::Finished::REASON_STOP
                                             : v1::Finished::REASON_LENGTH);
    if (int code = NumberOption(prompt_, "fail_choice", 0); code != 0) {
      finished->set_reason(v1::Finished::REASON_ERROR);
      finished->set_error("no token is left");
      finished->set_error_field("logit_bias");
      finished->set_error_code(static_cast<uint32_t>(code));
    }
    finished->mutable_usage()->set_prompt_tokens(choice == 0 ? PromptTokens(request_) : 0);
    finished->mutable_usage()->set_completion_tokens(static_cast<uint32_t>(count));
    writer_.Write(event);
  }

  const StubOptions& options_;
  const v1::GenerateRequest& request_;
  grpc::ServerContext& context_;
  grpc::ServerWriter<v1::GenerateEvent>& writer_;
  const std::string prompt_;
  const int tokens_;
  const int limit_;
};

// Kills its process when it has said that it has begun.
class DyingCall : public grpc::ServerUnaryReactor {
 public:
  explicit DyingCall(grpc::CallbackServerContext& context) {
    context.AddInitialMetadata(kWorkBegun, "1");
    StartSendInitialMetadata();
  }
  void OnSendInitialMetadataDone(bool) override { kill(getpid(), SIGKILL); }
  void OnDone() override { delete this; }
};

// Is answered by nobody.
class HeldCall : public grpc::ServerUnaryReactor {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

grpc::Status Refusal(const v1::GenerateRequest& request, grpc::ServerContext& context) {
  int refuse = NumberOption(PromptOf(request), "refuse", 0);
  if (refuse == 0) return grpc::Status::OK;
  context.AddTrailingMetadata("grpc-retry-pushback-ms", "2500");
  if (const std::string code = Option(PromptOf(request), "code"); !code.empty()) {
    context.AddTrailingMetadata(kErrorCode, code);
  }
  if (const std::string field = Option(PromptOf(request), "field"); !field.empty()) {
    context.AddTrailingMetadata(kErrorField, field);
  }
  std::string message = Option(PromptOf(request), "message", "refused");
  std::replace(message.begin(), message.end(), '~', ' ');
  return grpc::Status(static_cast<grpc::StatusCode>(refuse), message);
}

}  // namespace

grpc::Status StubInference::Validate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                                     v1::ValidateResponse* response) {
  response->set_prompt_tokens(PromptTokens(*request));
  return Refusal(*request, *context);
}

grpc::Status StubInference::Generate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                                     grpc::ServerWriter<v1::GenerateEvent>* writer) {
  int most = NumberOption(PromptOf(*request), "most", 1 << 30);
  if (running_ >= most) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "queue is full");
  if (grpc::Status status = Refusal(*request, *context); !status.ok()) return status;
  if (request->resume_tokens_size() > 0 && request->rendered_unix_seconds() != kRenderedUnixSeconds) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a continuation without the time of its prompt");
  }
  const std::string queued = Option(PromptOf(*request), "queued");
  context->AddInitialMetadata(kWorkBegun, "1");
  if (!options_.holds_queue || queued != "unread") writer->SendInitialMetadata();
  if (NumberOption(PromptOf(*request), "die_reading", 0) != 0) kill(getpid(), SIGKILL);
  // As in the queue of a worker that has others to serve.
  if (options_.holds_queue && !queued.empty()) {
    v1::GenerateEvent event;
    event.mutable_waiting();
    if (queued != "unread") writer->Write(event);
    ++waiting_;
    while (!context->IsCancelled()) Compute(std::chrono::milliseconds(5));
    --waiting_;
    return grpc::Status::CANCELLED;
  }
  ++running_;
  Script script(options_, *request, *context, *writer);
  grpc::Status status = script.SendAccepted() ? script.SendTokens() : grpc::Status::CANCELLED;
  --running_;
  if (status.error_code() == grpc::StatusCode::CANCELLED) ++cancelled_;
  return status;
}

grpc::ServerUnaryReactor* StubInference::Embed(grpc::CallbackServerContext* context, const v1::EmbedRequest* request,
                                               v1::EmbedResponse* response) {
  const std::string first = request->inputs_size() > 0 ? request->inputs(0).text() : "";
  const bool holds = options_.holds_queue && !Option(first, "queued").empty();
  if (NumberOption(first, "die_reading", 0) != 0 && !holds) return new DyingCall(*context);
  if (holds) {
    ++waiting_;
    return new HeldCall;
  }
  for (const v1::EmbedInput& input : request->inputs()) {
    v1::Embedding* embedding = response->add_embeddings();
    for (float value : {0.5f, -0.25f, static_cast<float>(input.text().size())}) embedding->add_values(value);
    response->mutable_usage()->set_prompt_tokens(response->usage().prompt_tokens() +
                                                 static_cast<uint32_t>(input.text().size()));
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::Status StubInference::Tokenize(grpc::ServerContext*, const v1::TokenizeRequest* request,
                                     v1::TokenizeResponse* response) {
  for (char c : request->text()) {
    response->add_ids(static_cast<unsigned char>(c));
    if (request->with_pieces()) response->add_pieces(std::string(1, c));
  }
  return grpc::Status::OK;
}

grpc::Status StubInference::Detokenize(grpc::ServerContext*, const v1::DetokenizeRequest* request,
                                       v1::DetokenizeResponse* response) {
  for (int32_t id : request->ids()) response->mutable_text()->push_back(static_cast<char>(id));
  return grpc::Status::OK;
}

grpc::Status StubInference::ApplyTemplate(grpc::ServerContext*, const v1::ApplyTemplateRequest* request,
                                          v1::ApplyTemplateResponse* response) {
  for (const v1::Message& message : request->chat().messages()) {
    response->mutable_text()->append(message.role() + ": " + message.content() + "\n");
  }
  return grpc::Status::OK;
}

grpc::Status StubInference::ListModels(grpc::ServerContext* context, const v1::ListModelsRequest*,
                                       v1::ListModelsResponse* response) {
  ++listed_;
  absl::Notification never;
  while (listed_ < together_ && !context->IsCancelled()) never.WaitForNotificationWithTimeout(absl::Milliseconds(5));
  v1::ModelInfo* model = response->add_models();
  model->set_name(options_.model);
  model->set_architecture("stub");
  model->set_context_tokens(4096);
  model->set_parameters(1000);
  return grpc::Status::OK;
}

grpc::Status StubWorker::Stats(grpc::ServerContext*, const v1::StatsRequest*, v1::StatsResponse* response) {
  response->set_model(model_);
  response->set_version(1);
  response->set_requests_running(static_cast<uint32_t>(inference_.running()));
  response->set_requests_waiting(static_cast<uint32_t>(inference_.waiting()));
  (*response->mutable_rejections())["queue_full"] = 3;
  (*response->mutable_rejections())["cancelled"] = static_cast<uint64_t>(inference_.cancelled());
  v1::HistogramData& queue = (*response->mutable_histograms())["queue_seconds"];
  for (double bound : {0.1, 1.0}) queue.add_upper_bounds(bound);
  for (uint64_t count : {5, 2, 1}) queue.add_counts(count);
  queue.set_sum(4.5);
  return grpc::Status::OK;
}

}  // namespace inferd::gateway
