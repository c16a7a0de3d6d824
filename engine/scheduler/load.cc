#include "engine/scheduler/load.h"

#include <algorithm>
#include <bit>

namespace inferd::scheduler {

void PromptSizes::Add(int64_t tokens) {
  if (tokens <= 0) return;
  const auto log2 = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(tokens)) - 1);
  Bucket& bucket = buckets_[std::min(log2, buckets_.size() - 1)];
  ++bucket.count;
  bucket.tokens += tokens;
  tokens_ += tokens;
}

// Half of a step goes in equal parts to all, so that each longer one gets no more than this one does, and all of them
// no more than half.
int64_t PromptSizes::Before(int64_t tokens) const {
  int64_t shorter = 0, longer = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.count == 0) continue;
    if (bucket.tokens <= bucket.count * tokens) {
      shorter += bucket.tokens;
    } else {
      longer += bucket.count * tokens;
    }
  }
  return shorter + std::min(longer, tokens + shorter);
}

bool Load::Begins(const Arrival& arrival, const QueueLimits& limits) const {
  if (arrival.embeds) return embedding_requests == 0;
  if (waiting_sequences > 0) return false;
  if (running_sequences == 0) return true;  // with some of its choices at least
  return running_sequences + arrival.sequences <= limits.max_sequences && arrival.blocks <= free_blocks;
}

void Load::Add(const Arrival& arrival, const QueueLimits& limits) {
  const bool begins = Begins(arrival, limits);
  const auto priority = static_cast<size_t>(arrival.priority);
  if (!begins) {
    ++waiting_requests;
    ++classes[priority].waiting_requests;
    waiting_choices += arrival.choices();
    classes[priority].waiting_choices += arrival.choices();
  }
  if (arrival.embeds) {
    ++embedding_requests;
    embedding_tokens += arrival.tokens;
    embeddings[priority].Add(arrival.tokens);
    return;
  }
  ClassLoad& its_class = classes[priority];
  prefill_tokens += arrival.tokens;
  its_class.prompts.Add(arrival.tokens);
  // More choices than there are places wait for those before them.
  const int64_t began = begins ? std::min(arrival.sequences, limits.max_sequences - running_sequences) : 0;
  const int64_t blocks = began == 0 ? 0 : arrival.blocks * began / arrival.sequences;
  running_sequences += began;
  its_class.running_sequences += began;
  its_class.running_blocks += blocks;
  free_blocks -= blocks;
  waiting_sequences += arrival.sequences - began;
  its_class.waiting_sequences += arrival.sequences - began;
  its_class.waiting_blocks += arrival.blocks - blocks;
}

}  // namespace inferd::scheduler
