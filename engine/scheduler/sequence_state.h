// The life of one sequence in the scheduler, as a table.
//
//                Admit            PromptDone
//   Waiting ───────────► Prefill ───────────► Decode
//                          ▲  │                 │
//                    Admit │  │ Preempt         │ Preempt
//                          │  ▼                 │
//                        Preempted ◄────────────┘
//
//   Prefill, Decode ── Finish ──► Finished            any of the four ── Cancel ──► Cancelled
//
//   std::optional<SequenceState> next = Next(SequenceState::kPrefill, SequenceEvent::kPreempt);   // kPreempted
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace inferd::scheduler {

enum class SequenceState : uint8_t { kWaiting, kPrefill, kDecode, kPreempted, kFinished, kCancelled };
enum class SequenceEvent : uint8_t { kAdmit, kPromptDone, kPreempt, kFinish, kCancel };

inline constexpr int kSequenceStates = 6, kSequenceEvents = 5;

std::string_view Name(SequenceState state);

// nullopt: the event is impossible in this state.
std::optional<SequenceState> Next(SequenceState state, SequenceEvent event);

}  // namespace inferd::scheduler
