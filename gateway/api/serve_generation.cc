#include "gateway/api/serve_generation.h"

#include <algorithm>

#include "config/base/status.h"
#include "gateway/api/respond.h"
#include "gateway/auth/access.h"
#include "gateway/calls/generation_set.h"
#include "gateway/serving/token_times.h"

namespace inferd::gateway {
namespace {

using std::chrono::steady_clock;

absl::Status WithClientName(const absl::Status& status, const Answer& answer) {
  return WithField(status, answer.NameOf(FieldOf(status)));
}

// The status with which the batch ends the answer, if it does.
std::optional<absl::Status> AddBatch(const GenerationSet::Batch& batch, Answer& answer, std::string* stream) {
  for (const auto& [prompt, event] : batch.events) {
    absl::Status added = answer.Add(prompt, event, stream);
    if (!added.ok()) return WithClientName(added, answer);
  }
  if (batch.end) return WithClientName(*batch.end, answer);
  return std::nullopt;
}

std::string ErrorEvent(Exchange& exchange, const absl::Status& status) {
  const ApiForm& form = *exchange.form;
  std::string event(form.error_start);
  event.append(form.error_body(NoteError(status, exchange), exchange.request_id)).append(form.error_end);
  return event;
}

Task<void> SendWhole(Exchange& exchange, GenerationSet& set, TokenTimes& times, Answer& answer) {
  while (true) {
    GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
    times.Take(batch);
    std::optional<absl::Status> end = AddBatch(batch, answer, nullptr);
    if (!end) continue;
    if (!end->ok()) {
      co_await RespondError(exchange, *end);
    } else {
      Response response;
      response.body = answer.Body();
      co_await exchange.Respond(std::move(response));
    }
    co_return;
  }
}

// Nothing is sent before the worker accepts, so that a refusal is a plain error response.
Task<void> SendStream(const Serving& serving, Exchange& exchange, GenerationSet& set, TokenTimes& times,
                      Answer& answer) {
  GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
  times.Take(batch);
  if (batch.events.empty()) {
    co_await RespondError(exchange, WithClientName(batch.end.value_or(absl::OkStatus()), answer));
    co_return;
  }
  Response head;
  head.content_type = exchange.form->stream_type;
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");
  bool connected = co_await exchange.StartStream(std::move(head), exchange.form->filler);
  bool cancelled = false;
  std::string records;
  while (connected) {
    records.clear();
    std::optional<absl::Status> end = AddBatch(batch, answer, &records);
    if (end && end->ok()) answer.AppendEnd(records);
    if (end && !end->ok()) records.append(ErrorEvent(exchange, *end));
    cancelled = end && absl::IsCancelled(*end);
    if (batch.events.empty() && !end) records = exchange.form->filler;
    connected = co_await exchange.Write(records);
    if (end) break;
    batch = co_await set.Next(steady_clock::now() + serving.keep_alive);
    times.Take(batch);
  }
  // What is written to a client that has just left may still find room.
  exchange.record.client_gone = !connected || cancelled;
  if (connected) co_await exchange.EndStream();
}

}  // namespace

Task<void> ServeGeneration(const Serving& serving, Exchange& exchange, std::vector<v1::GenerateRequest> requests,
                           const GenerationOptions& wanted, Answer& answer) {
  Generation::Options options;
  options.sticky = StickyOf(exchange.key.get(), wanted.user);
  options.request_id = exchange.request_id;
  options.caller = CallerOf(exchange.key.get(), exchange.peer_host);
  if (wanted.deadline) options.deadline = exchange.arrived + *wanted.deadline;
  uint64_t answers = 0;
  for (v1::GenerateRequest& request : requests) {
    answers += std::max(1u, request.choices());
    request.set_cache_salt(CacheSaltOf(exchange.key.get(), request.cache_salt()));
  }
  if (serving.access != nullptr) serving.access->CountAnswers(exchange.key.get(), exchange.peer_host, answers);
  GenerationSet set(serving.upstream, std::move(requests), options, exchange.executor());
  exchange.OnClientGone([&set] { set.Cancel(); });
  TokenTimes times(serving.metrics, exchange.record, exchange.arrived);
  if (wanted.stream) {
    co_await SendStream(serving, exchange, set, times, answer);
  } else {
    co_await SendWhole(exchange, set, times, answer);
  }
  exchange.OnClientGone(nullptr);
}

}  // namespace inferd::gateway
