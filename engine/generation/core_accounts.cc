// What the core tells: of an answer that has ended, of its load, of all that it has counted.
#include <algorithm>

#include "engine/generation/core.h"

namespace inferd::engine {

// Of a resumed request, pages of its answer may have been found, too.
uint32_t Core::CachedOfPrompt(const Request& request, const scheduler::Sequence& sequence) {
  return static_cast<uint32_t>(std::min(sequence.cached, static_cast<int64_t>(request.request.prompt.size())));
}

Finished Core::FinishedEvent(const Active& active, const scheduler::Sequence* sequence, const Finish& finish) const {
  const MonotonicTime now = clock_.Now();
  const Request& request = *active.request;
  const MonotonicTime admitted = sequence != nullptr ? *sequence->admitted : now;
  const MonotonicTime first = active.first_token.value_or(now);
  const bool counts_prompt = active.choice->index() == 0;
  return {
      .choice = active.choice->index(),
      .reason = finish.reason,
      .stop_text = finish.stop_text,
      .usage = {.prompt_tokens = counts_prompt ? static_cast<uint32_t>(request.request.prompt.size()) : 0,
                .completion_tokens = active.choice->generated(),
                .cached_prompt_tokens = counts_prompt && sequence != nullptr ? CachedOfPrompt(request, *sequence) : 0,
                .dropped_tokens = active.choice->dropped()},
      .timings = {.queue_seconds = Seconds(request.arrival, admitted),
                  .prefill_seconds = Seconds(admitted, first),
                  .decode_seconds = Seconds(first, now),
                  .first_token_seconds = Seconds(request.arrival, first)},
      .error = finish.error};
}

void Core::CountFinished(const Finished& event, MonotonicTime arrival) {
  ++statistics_.finished[NameOf(event.reason)];
  statistics_.request_seconds.Add(Seconds(arrival, clock_.Now()));
  statistics_.queue_seconds.Add(event.timings.queue_seconds);
  statistics_.prefill_seconds.Add(event.timings.prefill_seconds);
  statistics_.decode_seconds.Add(event.timings.decode_seconds);
  statistics_.request_generation_tokens.Add(event.usage.completion_tokens);
}

std::vector<RequestId> Core::RequestIds() const {
  std::vector<RequestId> ids;
  for (const auto& [id, request] : requests_) ids.push_back(id);
  return ids;
}

scheduler::Load Core::load() const {
  scheduler::Load load = scheduler_.load();
  load.waiting_requests = static_cast<int64_t>(waiting_.size());
  for (const RequestId id : waiting_) {
    const Request& request = *requests_.at(id);
    const int64_t choices = ArrivalOf(request).choices();
    scheduler::ClassLoad& its_class = load.classes[static_cast<size_t>(request.request.priority)];
    ++its_class.waiting_requests;
    its_class.waiting_choices += choices;
    load.waiting_choices += choices;
  }
  return load;
}

Statistics Core::statistics() const {
  Statistics statistics = statistics_;
  statistics.preemptions = scheduler_.preemptions();
  statistics.draft_tokens_proposed = speculation_.proposed();
  statistics.draft_tokens_accepted = speculation_.accepted();
  statistics.cache = cache_.Stats();
  statistics.requests_waiting = static_cast<uint32_t>(waiting_.size());
  statistics.requests_running = static_cast<uint32_t>(requests_.size() - waiting_.size());
  return statistics;
}

}  // namespace inferd::engine
