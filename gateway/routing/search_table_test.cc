#include "gateway/routing/search_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace inferd::gateway {
namespace {

using enum SearchState;
using enum SearchEvent;
using enum SearchAction;

// All that may happen in a state; whatever is not here must not.
const std::map<SearchState, std::map<SearchEvent, SearchAction>> kRules = {
    // Nothing leads to a worker, and nothing will.
    {kNoRoute,
     {{kLooked, kEndNotReady}, {kPatienceOver, kEndNotReady}, {kDeadlinePassed, kEndLate}, {kEnded, kEndAsTold}}},
    // A version will be ready by itself.
    {kComing,
     {{kLooked, kWait},
      {kChanged, kLook},
      {kPatienceOver, kEndNotReady},
      {kDeadlinePassed, kEndLate},
      {kEnded, kEndAsTold}}},
    // A version will be ready if the supervisor is asked for it, now and again.
    {kLoading,
     {{kLooked, kAsk},
      {kChanged, kLook},
      {kPauseOver, kLook},
      {kPatienceOver, kEndNotReady},
      {kDeadlinePassed, kEndLate},
      {kEnded, kEndAsTold}}},
    // The routes that led to a worker which failed get a moment to change.
    {kStale,
     {{kLooked, kWait},
      {kChanged, kLook},
      {kPauseOver, kBelieve},
      {kPatienceOver, kEndNotReady},
      {kDeadlinePassed, kEndLate},
      {kEnded, kEndAsTold}}},
    // Waiting for others is not waiting for a worker: it takes no patience.
    {kGated,
     {{kLooked, kWait}, {kChanged, kLook}, {kPatienceOver, kWait}, {kDeadlinePassed, kEndLate}, {kEnded, kEndAsTold}}},
    {kReady,
     {{kLooked, kCall},
      {kPatienceOver, kEndNotReady},
      {kDeadlinePassed, kEndLate},
      {kEnded, kEndAsTold},
      {kAnswered, kEndAnswered},
      {kTurnedAway, kRest},
      {kNotReached, kRest},
      {kLost, kBlame},
      {kOtherBits, kRest}}},
};

TEST(SearchTable, SaysWhatIsDoneForEachEventInEachState) {
  for (const SearchState state : kSearchStates) {
    for (const SearchEvent event : kSearchEvents) {
      const auto& rules = kRules.at(state);
      const auto rule = rules.find(event);
      EXPECT_EQ(ActionOf(state, event), rule == rules.end() ? kImpossible : rule->second)
          << NameOf(state) << " x " << NameOf(event);
    }
  }
}

TEST(SearchTable, NamesEachStateAndEventOnce) {
  std::set<std::string_view> names;
  for (const SearchState state : kSearchStates) names.insert(NameOf(state));
  for (const SearchEvent event : kSearchEvents) names.insert(NameOf(event));
  EXPECT_EQ(names.size(), kSearchStates.size() + kSearchEvents.size());
}

// All combinations of what a look can find, against the rules in words.
TEST(SearchTable, KnowsTheStateByWhatALookFinds) {
  for (int bits = 0; bits < 64; ++bits) {
    const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
    const Sight sight{
        .ready = bit(0), .coming = bit(1), .loadable = bit(2), .failed = bit(3), .same = bit(4), .must_queue = bit(5)};
    const SearchState state = StateOf(sight);
    const bool distrusted = sight.failed && sight.same;
    EXPECT_EQ(state == kReady || state == kGated, sight.ready && !distrusted) << bits;
    if (state == kReady || state == kGated) {
      EXPECT_EQ(state == kGated, sight.must_queue) << bits;
    } else {
      EXPECT_EQ(state == kStale, sight.failed) << bits << ": whatever else is there, a failure gets its rest first";
      EXPECT_EQ(state == kLoading, !sight.failed && sight.loadable) << bits;
      EXPECT_EQ(state == kComing, !sight.failed && !sight.loadable && sight.coming) << bits;
    }
  }
}

}  // namespace
}  // namespace inferd::gateway
