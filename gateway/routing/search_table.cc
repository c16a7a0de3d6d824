#include "gateway/routing/search_table.h"

namespace inferd::gateway {
namespace {

constexpr size_t kStates = kSearchStates.size();
constexpr size_t kEvents = kSearchEvents.size();
using enum SearchAction;

// Events in rows, states in columns. Of a call hears only who has made one.
// clang-format off
constexpr SearchAction kTable[kEvents][kStates] = {
    //                     no route      coming        loading       stale         gated        ready
    /* looked */          {kEndNotReady, kWait,        kAsk,         kWait,        kWait,       kCall},
    /* changed */         {kImpossible,  kLook,        kLook,        kLook,        kLook,       kImpossible},
    /* pause over */      {kImpossible,  kImpossible,  kLook,        kBelieve,     kImpossible, kImpossible},
    /* patience over */   {kEndNotReady, kEndNotReady, kEndNotReady, kEndNotReady, kWait,       kEndNotReady},
    /* deadline passed */ {kEndLate,     kEndLate,     kEndLate,     kEndLate,     kEndLate,    kEndLate},
    /* ended */           {kEndAsTold,   kEndAsTold,   kEndAsTold,   kEndAsTold,   kEndAsTold,  kEndAsTold},
    /* answered */        {kImpossible,  kImpossible,  kImpossible,  kImpossible,  kImpossible, kEndAnswered},
    /* turned away */     {kImpossible,  kImpossible,  kImpossible,  kImpossible,  kImpossible, kRest},
    /* not reached */     {kImpossible,  kImpossible,  kImpossible,  kImpossible,  kImpossible, kRest},
    /* lost */            {kImpossible,  kImpossible,  kImpossible,  kImpossible,  kImpossible, kBlame},
    /* other bits */      {kImpossible,  kImpossible,  kImpossible,  kImpossible,  kImpossible, kRest},
};
// clang-format on

}  // namespace

SearchAction ActionOf(SearchState state, SearchEvent event) {
  return kTable[static_cast<size_t>(event)][static_cast<size_t>(state)];
}

std::string_view NameOf(SearchState state) {
  constexpr std::string_view kNames[kStates] = {"no route", "coming", "loading", "stale", "gated", "ready"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view NameOf(SearchEvent event) {
  constexpr std::string_view kNames[kEvents] = {"looked",          "changed", "pause over", "patience over",
                                                "deadline passed", "ended",   "answered",   "turned away",
                                                "not reached",     "lost",    "other bits"};
  return kNames[static_cast<size_t>(event)];
}

SearchState StateOf(const Sight& sight) {
  if (sight.ready && !(sight.failed && sight.same)) return sight.must_queue ? SearchState::kGated : SearchState::kReady;
  if (sight.failed) return SearchState::kStale;
  if (sight.loadable) return SearchState::kLoading;
  return sight.coming ? SearchState::kComing : SearchState::kNoRoute;
}

}  // namespace inferd::gateway
