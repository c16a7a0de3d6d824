#include "gateway/serving/token_times.h"

#include "gateway/serving/gateway_metrics.h"

namespace inferd::gateway {
namespace {

double Seconds(TimePoint from, TimePoint to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace

TokenTimes::TokenTimes(GatewayMetrics& metrics, RequestRecord& record, TimePoint arrived)
    : metrics_(metrics), record_(record), arrived_(arrived) {
  metrics_.StreamStarted(record_.model);
}

TokenTimes::~TokenTimes() { metrics_.StreamEnded(record_.model); }

void TokenTimes::Take(const GenerationSet::Batch& batch) {
  uint32_t tokens = 0;
  for (const auto& [prompt, event] : batch.events) {
    if (event.has_accepted()) record_.version = event.accepted().model_version();
    tokens += Count(prompt, event);
  }
  if (tokens == 0) return;
  TimePoint now = std::chrono::steady_clock::now();
  if (!last_) {
    record_.first_token_seconds = Seconds(arrived_, now);
    metrics_.FirstToken(record_.model, record_.first_token_seconds);
  } else {
    metrics_.InterToken(record_.model, Seconds(*last_, now) / tokens);
  }
  last_ = now;
}

uint32_t TokenTimes::Count(uint32_t prompt, const v1::GenerateEvent& event) {
  if (event.has_accepted()) record_.prompt_tokens += event.accepted().prompt_tokens();
  if (event.has_finished()) {
    uint64_t counted = std::exchange(counted_[{prompt, event.finished().choice()}], 0);
    record_.completion_tokens += event.finished().usage().completion_tokens() - counted;
  }
  if (!event.has_delta() || event.delta().kind() == v1::Delta::KIND_PROMPT) return 0;
  const auto tokens = static_cast<uint32_t>(event.delta().token_ids_size());
  counted_[{prompt, event.delta().choice()}] += tokens;
  record_.completion_tokens += tokens;
  return tokens;
}

}  // namespace inferd::gateway
