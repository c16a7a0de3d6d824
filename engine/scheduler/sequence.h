// What the scheduler knows of one sequence: counts of tokens and times, never the tokens.
//
//   SequenceSpec spec{.id = 1, .tokens = 115, .priority = Priority::kNormal, .arrival = clock.Now()};
#pragma once

#include <cstdint>
#include <optional>

#include "config/base/clock.h"
#include "engine/scheduler/priority.h"
#include "engine/scheduler/sequence_state.h"

namespace inferd::scheduler {

using SequenceId = uint64_t;  // from 1 on
constexpr SequenceId kNoLeader = 0;

// Another sequence whose beginning is the same: it is cheaper to wait until it is computed.
struct SharedPrefix {
  SequenceId leader;
  int64_t tokens;    // that the prefix cache has when the leader has computed them
  int64_t tail = 0;  // more that are the same, which only the leader has, and only until it goes on

  int64_t end() const { return tokens + tail; }
};

// A sequence computes the beginning that others share in place of one that was cancelled.
struct Heir {
  SequenceId leader, heir;
  int64_t tokens;  // that they have in common
};

struct SequenceSpec {
  SequenceId id = 0;
  int64_t tokens = 0;        // known so far: the prompt, and what a resumed request had generated; >= 1
  int64_t most_tokens = 0;   // that it ends with at the latest; 0: not known
  int64_t known_tokens = 0;  // of them in the prefix cache when it came: what it expects not to compute
  Priority priority = Priority::kNormal;
  MonotonicTime arrival;
  std::optional<MonotonicTime> deadline;
  std::optional<SharedPrefix> shared_prefix;
  bool all_rows = false;  // results of every token are wanted: no prefix reuse, and rows are bounded
};

struct Sequence {
  SequenceSpec spec;
  SequenceState state = SequenceState::kWaiting;
  int64_t tokens = 0;    // known: prompt and generated
  int64_t computed = 0;  // of these, in the KV cache
  int64_t cached = 0;    // of these, found in the prefix cache at the first admission
  int64_t drafts = 0;    // guesses for the tokens after the known ones, to be checked in the next step
  bool leads = false;    // others came that share its beginning
  uint64_t last_served_step = 0;
  uint64_t preempted_step = 0;
  std::optional<MonotonicTime> admitted;  // for the first time

  int64_t pending() const { return tokens - computed; }
  bool running() const { return state == SequenceState::kPrefill || state == SequenceState::kDecode; }
  bool waiting() const { return state == SequenceState::kWaiting || state == SequenceState::kPreempted; }
};

}  // namespace inferd::scheduler
