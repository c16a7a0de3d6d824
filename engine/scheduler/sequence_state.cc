// The table of the diagram in the header.
#include "engine/scheduler/sequence_state.h"

namespace inferd::scheduler {
namespace {

using enum SequenceState;
constexpr std::nullopt_t kImpossible = std::nullopt;

constexpr std::optional<SequenceState> kNext[kSequenceStates][kSequenceEvents] = {
    //               Admit        PromptDone   Preempt      Finish       Cancel
    /* Waiting   */ {kPrefill, kImpossible, kImpossible, kImpossible, kCancelled},
    /* Prefill   */ {kImpossible, kDecode, kPreempted, kFinished, kCancelled},
    /* Decode    */ {kImpossible, kImpossible, kPreempted, kFinished, kCancelled},
    /* Preempted */ {kPrefill, kImpossible, kImpossible, kImpossible, kCancelled},
    /* Finished  */ {kImpossible, kImpossible, kImpossible, kImpossible, kImpossible},
    /* Cancelled */ {kImpossible, kImpossible, kImpossible, kImpossible, kImpossible},
};

}  // namespace

std::string_view Name(SequenceState state) {
  static constexpr std::string_view kNames[kSequenceStates] = {"waiting",   "prefill",  "decode",
                                                               "preempted", "finished", "cancelled"};
  return kNames[static_cast<int>(state)];
}

std::optional<SequenceState> Next(SequenceState state, SequenceEvent event) {
  return kNext[static_cast<int>(state)][static_cast<int>(event)];
}

}  // namespace inferd::scheduler
