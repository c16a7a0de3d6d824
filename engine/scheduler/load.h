// What an engine has to do when one more request comes: the base of its admission.
//
//   load.Add(arrival, limits);
//   load.classes[1].prompts.Before(/*tokens=*/20);        // of normal prompts, what is computed before such a one
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/scheduler/sequence.h"

namespace inferd::scheduler {

struct QueueLimits {
  int64_t max_requests = 256;    // waiting, each counted with its choices
  int64_t max_tokens = 0;        // prompt tokens waiting; 0: no bound
  double max_wait_seconds = 30;  // 0: no bound
  int64_t max_sequences = 32;    // running at once
  int64_t prefill_tokens = 256;  // of one step
};

// A new request: to generate, or to embed texts.
struct Arrival {
  int64_t tokens = 0;        // of the prompt, or of all texts
  int64_t sequences = 1;     // choices; not of texts, which have places of their own
  int64_t blocks = 0;        // of the cache, for the prompts and a page more each
  int64_t first_blocks = 0;  // of these, for the first choice
  Priority priority = Priority::kNormal;
  bool embeds = false;
  bool resumed = false;  // its client has part of the answer: it is never refused
  MonotonicTime now;
  std::optional<MonotonicTime> deadline;

  int64_t choices() const { return sequences > 1 ? sequences : 1; }  // as the queue counts them
};

// Prompts, or texts to embed, that are not computed yet: how many there are of each size, sizes in powers of two.
class PromptSizes {
 public:
  void Add(int64_t tokens);  // that one of them has left; none for 0
  int64_t tokens() const { return tokens_; }
  // Of these, what is computed before an equal in rank of so many tokens that comes now, as ShareBudget divides steps:
  // the shorter ones, and of the longer ones what they get in turns with it.
  int64_t Before(int64_t tokens) const;

 private:
  struct Bucket {
    int64_t count = 0, tokens = 0;
  };

  std::array<Bucket, 40> buckets_;  // [i]: those of 2^i .. 2^(i+1) - 1 tokens
  int64_t tokens_ = 0;
};

// What has one priority, as it is now.
struct ClassLoad {
  int64_t waiting_requests = 0, waiting_choices = 0;  // of Load's
  int64_t waiting_sequences = 0, waiting_blocks = 0;  // blocks: that they need
  int64_t running_sequences = 0, running_blocks = 0;  // that they hold
  PromptSizes prompts;                                // of both
};

struct Load {
  struct Ending {         // of a running sequence
    int64_t tokens_left;  // that it is expected to generate
    int64_t blocks;       // that it holds
  };

  int64_t waiting_requests = 0;  // that have not begun
  int64_t waiting_choices = 0;   // of these; 1 of a request to embed
  int64_t running_sequences = 0, decoding_sequences = 0;
  int64_t waiting_sequences = 0;
  int64_t embedding_requests = 0;  // waiting or not
  int64_t prefill_tokens = 0;      // of prompts, not computed yet; a shared prefix once
  int64_t embedding_tokens = 0;    // of texts to embed
  int64_t free_blocks = 0;         // beyond what the running sequences' prompts and next pages take
  std::vector<Ending> endings;     // the soonest first
  std::array<ClassLoad, kPriorities> classes;
  std::array<PromptSizes, kPriorities> embeddings;

  bool idle() const { return running_sequences + waiting_sequences + embedding_requests == 0; }
  // Whether a request that comes now begins in the next step.
  bool Begins(const Arrival& arrival, const QueueLimits& limits) const;
  void Add(const Arrival& arrival, const QueueLimits& limits);
};

}  // namespace inferd::scheduler
