#include "daemon/worker_state.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace inferd::daemon {
namespace {

// Every cell: rows are states, columns events in the order of the enumeration; "-" is what cannot happen, otherwise the
// next state's first two letters and the action's letter:
//   . none  S spawn  V verify  A announce  K kill  D decide  R arm retry  T terminate  E settle
constexpr char kExpected[] = R"(
          start notserv serving verified rejected overdue wedged exited retry giveup backover stop
STARTING  -     LO.     VEV     -        -        CRK     -      CRD    -     -      -        DRT
LOADING   -     LO.     VEV     -        -        CRK     -      CRD    -     -      -        DRT
VERIFYING -     LO.     VE.     REA      CRK      CRK     -      CRD    -     -      -        DRT
READY     -     LO.     RE.     -        -        -       CRK    CRD    -     -      -        DRT
DRAINING  -     DR.     DR.     -        -        DRK     -      STE    -     -      -        DR.
STOPPED   SGS   -       -       -        -        -       -      -      -     -      -        ST.
CRASHED   -     CR.     CR.     -        -        -       -      CRD    BAR   FAE    -        DRK
BACKOFF   SGS   -       -       -        -        -       -      -      -     -      SGS      STE
FAILED    SGS   -       -       -        -        -       -      -      -     -      -        STE
)";

std::string Short(const std::optional<Transition>& transition) {
  if (!transition) return "-";
  // STARTING and STOPPED begin alike.
  const std::string state =
      transition->next == WorkerState::kStarting ? "SG" : std::string(NameOf(transition->next).substr(0, 2));
  return state + std::string(".SVAKDRTE")[static_cast<size_t>(transition->action)];
}

TEST(WorkerState, EveryCellIsAsTheTableSays) {
  std::istringstream text(kExpected);
  std::string line;
  std::getline(text, line);
  std::getline(text, line);  // headings
  for (int state = 0; state <= static_cast<int>(WorkerState::kFailed); ++state) {
    std::getline(text, line);
    std::istringstream cells(line);
    std::string cell;
    cells >> cell;
    EXPECT_EQ(cell, NameOf(static_cast<WorkerState>(state)));
    for (int event = 0; event <= static_cast<int>(WorkerEvent::kStop); ++event) {
      ASSERT_TRUE(cells >> cell);
      EXPECT_EQ(Short(Next(static_cast<WorkerState>(state), static_cast<WorkerEvent>(event))), cell)
          << NameOf(static_cast<WorkerState>(state)) << " + " << NameOf(static_cast<WorkerEvent>(event));
    }
  }
}

TEST(WorkerState, EveryStateCanBeStopped) {
  for (int i = 0; i <= static_cast<int>(WorkerState::kFailed); ++i) {
    const auto state = static_cast<WorkerState>(i);
    const auto next = Next(state, WorkerEvent::kStop);
    ASSERT_TRUE(next.has_value()) << NameOf(state);
    EXPECT_EQ(next->next, HasProcess(state) ? WorkerState::kDraining : WorkerState::kStopped) << NameOf(state);
  }
}

TEST(WorkerState, AProcessThatExitsIsLegalExactlyWhereThereIsOne) {
  for (int i = 0; i <= static_cast<int>(WorkerState::kFailed); ++i) {
    const auto state = static_cast<WorkerState>(i);
    EXPECT_EQ(Next(state, WorkerEvent::kExited).has_value(), HasProcess(state)) << NameOf(state);
  }
}

}  // namespace
}  // namespace inferd::daemon
