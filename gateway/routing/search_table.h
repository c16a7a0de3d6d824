// How a request finds, waits for and leaves a worker: one table of states and events for streams and unary calls.
//
//                  the routes changed, or the pause is over
//          ┌──────────────────────────────────────────────────────────────┐
//          ▼                                                              │
//        look ──► no route   ends: there is no such model, or nothing of it will serve
//          ├────► coming     waits for a version that will be ready ──────┤
//          ├────► loading    asks the supervisor for the model, waits ────┤
//          ├────► stale      rests: the routes led to a worker that failed ┤
//          ├────► gated      waits for its turn (resume_gate.h) ──────────┤
//          └────► ready      calls ──► turned away, not reached, lost, ───┘
//                              │       or a worker with other bits
//                              └─────► answered: ends
//
// In every state the request ends when the client's deadline passes or it is told to end from outside, and in every
// state but gated when it has waited for a worker as long as it may.
//
//   switch (ActionOf(SearchState::kComing, SearchEvent::kDeadlinePassed)) { case SearchAction::kEndLate: ...
#pragma once

#include <array>
#include <string_view>

namespace inferd::gateway {

// What the newest look at the routes has shown.
enum class SearchState { kNoRoute, kComing, kLoading, kStale, kGated, kReady };
inline constexpr std::array kSearchStates = {SearchState::kNoRoute, SearchState::kComing, SearchState::kLoading,
                                             SearchState::kStale,   SearchState::kGated,  SearchState::kReady};

enum class SearchEvent {
  kLooked,          // the look has just shown the state
  kChanged,         // the routes are others, or the request's turn may have come
  kPauseOver,       // of the state: it has rested, or may ask the supervisor again
  kPatienceOver,    // it has waited for a worker as long as it may
  kDeadlinePassed,  // the client's
  kEnded,           // from outside: the client left, or the time for requests under way is over
  // Of the call to the worker that was found.
  kAnswered,    // the worker said how it ended
  kTurnedAway,  // the worker drains or loads, and leaves it to another
  kNotReached,  // the worker has not seen it
  kLost,        // the worker died
  kOtherBits,   // the worker would go on with other bits than the routes say
};
inline constexpr std::array kSearchEvents = {
    SearchEvent::kLooked,         SearchEvent::kChanged, SearchEvent::kPauseOver, SearchEvent::kPatienceOver,
    SearchEvent::kDeadlinePassed, SearchEvent::kEnded,   SearchEvent::kAnswered,  SearchEvent::kTurnedAway,
    SearchEvent::kNotReached,     SearchEvent::kLost,    SearchEvent::kOtherBits};

enum class SearchAction {
  kImpossible,   // the event does not happen in this state
  kLook,         // at the routes again
  kWait,         // for what ends the state
  kAsk,          // the supervisor for the model, unless it was asked a moment ago; then wait
  kBelieve,      // the routes though they are the old ones, then look
  kCall,         // the worker
  kRest,         // when it looks next: other routes may say more
  kBlame,        // count the death; the request ends if it is to blame, else as kRest
  kEndNotReady,  // UNAVAILABLE; NOT_FOUND where the model is not known at all
  kEndLate,      // DEADLINE_EXCEEDED
  kEndAsTold,    // with the status from outside
  kEndAnswered,  // with the worker's status
};

SearchAction ActionOf(SearchState state, SearchEvent event);

std::string_view NameOf(SearchState state);
std::string_view NameOf(SearchEvent event);

// What a look at the routes finds for one request.
struct Sight {
  // A version that fits is ready.
  bool ready = false;
  // One will be without anybody's help; one will be when the supervisor is asked for it.
  bool coming = false;
  bool loadable = false;
  // The newest call failed, and the routes have not been believed since; `same`: they are the ones that led there.
  bool failed = false;
  bool same = false;
  // It has to go on alone, and it is not its turn.
  bool must_queue = false;
};
SearchState StateOf(const Sight& sight);

}  // namespace inferd::gateway
