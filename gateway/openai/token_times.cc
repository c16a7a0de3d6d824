#include "gateway/openai/token_times.h"

#include "gateway/metrics/gateway_metrics.h"

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
  int tokens = 0;
  for (const auto& [prompt, event] : batch.events) {
    if (event.has_delta() && event.delta().kind() != v1::Delta::KIND_PROMPT) tokens += event.delta().token_ids_size();
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

void TokenTimes::AddUsage(const v1::Finished& finished) {
  if (finished.choice() == 0) record_.prompt_tokens += finished.usage().prompt_tokens();
  record_.completion_tokens += finished.usage().completion_tokens();
}

}  // namespace inferd::gateway
