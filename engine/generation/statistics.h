// What an engine counts, since its start.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/cache/kv_cache.h"
#include "engine/generation/event.h"
#include "engine/generation/histogram.h"

namespace inferd::engine {

struct Statistics {
  uint64_t steps = 0;
  uint64_t progress = 0;  // as Engine::progress
  uint32_t requests_running = 0, requests_waiting = 0;
  uint32_t sequences_running = 0;  // choices of the requests that generate
  uint64_t prompt_tokens = 0, cached_prompt_tokens = 0, generation_tokens = 0;
  uint64_t preemptions = 0, nonfinite_logits = 0;
  uint64_t prefix_queries = 0, prefix_hits = 0;  // sequences that began, and those that found pages
  uint64_t draft_tokens_proposed = 0, draft_tokens_accepted = 0;
  std::map<std::string, uint64_t> finished;    // choices, by reason: stop, length, tool_calls, error
  std::map<std::string, uint64_t> rejections;  // by reason: queue_full, deadline_too_short, too_long, draining
  cache::CacheStats cache;
  cache::CacheStats draft_cache;  // all 0 without a draft model

  Histogram time_to_first_token_seconds{kSecondsBounds};
  Histogram inter_token_seconds{kSecondsBounds};
  Histogram request_seconds{kSecondsBounds};
  Histogram queue_seconds{kSecondsBounds};
  Histogram prefill_seconds{kSecondsBounds};
  Histogram decode_seconds{kSecondsBounds};
  Histogram request_prompt_tokens{kTokensBounds};
  Histogram request_generation_tokens{kTokensBounds};
  Histogram step_tokens{kTokensBounds};

  // Calls visit(name, histogram) with the names that the worker reports.
  template <typename Visitor>
  void VisitHistograms(Visitor visit) const {
    visit("time_to_first_token_seconds", time_to_first_token_seconds);
    visit("inter_token_latency_seconds", inter_token_seconds);
    visit("request_seconds", request_seconds);
    visit("queue_seconds", queue_seconds);
    visit("prefill_seconds", prefill_seconds);
    visit("decode_seconds", decode_seconds);
    visit("prompt_tokens", request_prompt_tokens);
    visit("generation_tokens", request_generation_tokens);
    visit("batch_tokens", step_tokens);
  }
};

}  // namespace inferd::engine
