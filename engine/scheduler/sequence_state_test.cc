#include "engine/scheduler/sequence_state.h"

#include <gtest/gtest.h>

namespace inferd::scheduler {
namespace {

using enum SequenceState;
using enum SequenceEvent;

constexpr SequenceState kStates[] = {kWaiting, kPrefill, kDecode, kPreempted, kFinished, kCancelled};
constexpr SequenceEvent kEvents[] = {kAdmit, kPromptDone, kPreempt, kFinish, kCancel};

struct Legal {
  SequenceState from;
  SequenceEvent event;
  SequenceState to;
};
constexpr Legal kLegal[] = {
    {kWaiting, kAdmit, kPrefill},     {kPreempted, kAdmit, kPrefill},    {kPrefill, kPromptDone, kDecode},
    {kPrefill, kPreempt, kPreempted}, {kDecode, kPreempt, kPreempted},   {kPrefill, kFinish, kFinished},
    {kDecode, kFinish, kFinished},    {kWaiting, kCancel, kCancelled},   {kPrefill, kCancel, kCancelled},
    {kDecode, kCancel, kCancelled},   {kPreempted, kCancel, kCancelled},
};

TEST(SequenceState, EveryCellOfTheTableIsAsDrawn) {
  for (SequenceState from : kStates) {
    for (SequenceEvent event : kEvents) {
      std::optional<SequenceState> expected;
      for (const Legal& legal : kLegal) {
        if (legal.from == from && legal.event == event) expected = legal.to;
      }
      EXPECT_EQ(Next(from, event), expected) << Name(from) << ", event " << static_cast<int>(event);
    }
  }
}

}  // namespace
}  // namespace inferd::scheduler
