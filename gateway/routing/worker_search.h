// One request's way from worker to worker: finds one that is ready (waiting, with a bound, for one that is about to
// be), and when it dies or leaves the request to another, the next. What happens when stands in search_table.h.
//
//   WorkerSearch search(upstream, {.model = "chat", .request = &request, .deadline = deadline}, executor);
//   while (true) {
//     ASSIGN_OR_RETURN(std::shared_ptr<WorkerConnection> worker, co_await search.Next());
//     search.Calling([context] { context->TryCancel(); });
//     ...                                                          // the call, told to Accepted() and GotFurther()
//     if (std::optional<absl::Status> end = search.AfterEnd(call_end)) co_return *end;
//   }
//
// A request under which two workers die in a row, while they work on it and without its having got further, ends with
// INTERNAL and is refused for a while (poison_list.h); after the first of them it goes on alone (resume_gate.h). One
// that waited in a queue when its worker died is not to blame. All calls on the executor's thread.
#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/routing/call_status.h"
#include "gateway/routing/death_blame.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/search_table.h"
#include "gateway/routing/upstream.h"

namespace google::protobuf {
class Message;
}

namespace inferd::gateway {

struct WorkerConnection;

class WorkerSearch {
 public:
  struct Wanted {
    std::string model;
    // What is asked; outlives the search.
    const google::protobuf::Message* request = nullptr;
    // Decides among the versions of the model.
    uint64_t sticky = 0;
    // Who is to blame for deaths (poison_list.h).
    std::string caller;
    TimePoint deadline = TimePoint::max();
    // How long the request, once it may have killed, keeps others like it from their turn; unset: until it gets
    // further or ends.
    std::optional<std::chrono::milliseconds> longest_turn;
  };

  WorkerSearch(Upstream& upstream, Wanted wanted, Executor executor);
  ~WorkerSearch();
  WorkerSearch(const WorkerSearch&) = delete;
  WorkerSearch& operator=(const WorkerSearch&) = delete;

  // The worker to call.
  //   NOT_FOUND no such model; UNAVAILABLE none is ready; DEADLINE_EXCEEDED; FAILED_PRECONDITION the request is
  //   refused; or as EndWith() says
  Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> Next();

  // The call to it begins; `cancel` ends it. Held until the call has ended.
  void Calling(std::function<void()> cancel);
  // The request waits there in a queue.
  void Waits() { call_.stage = std::max(call_.stage, Stage::kWaits); }
  // The worker has begun the request. From the first time on, only versions that give the same bits fit.
  void Accepted(uint64_t version, const std::string& fingerprint);
  // The worker gave part of the answer.
  void GotFurther();
  // The call has ended: what to end the request with; nothing: it is to go on with Next().
  std::optional<absl::Status> AfterEnd(const CallEnd& end);
  // The call was given up because its worker gives other bits than the routes say.
  std::optional<absl::Status> AfterOtherBits();

  // Ends the call, and every wait, with this status; the first counts.
  void EndWith(const absl::Status& why);

  // A worker has begun the request.
  bool accepted() const { return pinned_.has_value(); }
  // Whether a worker with this fingerprint goes on with the same bits.
  bool GivesSameBits(const std::string& fingerprint) const { return !pinned_ || pinned_->fingerprint == fingerprint; }
  // Why it is to end, from outside; OK: it is not.
  const absl::Status& ended() const { return ended_; }

 private:
  struct Version {
    uint64_t number = 0;
    std::string fingerprint;
  };
  // How far the request has come there, as far as is known.
  enum class Stage { kSent, kWaits, kAccepted, kGotFurther };
  // The newest one.
  struct Call {
    // By which it was routed: after a failure it is likely out of date. Null: there was none.
    std::shared_ptr<const RouteTable> table;
    std::function<void()> cancel;
    // Of the patience, when it began. Time in a worker's hands does not count.
    TimePoint::duration patience_left{0};
    Stage stage = Stage::kSent;
  };

  // Sets state_, and enters the gate where that is to be and can be.
  void Look();
  // What ends the search whatever else happens. The patience begins with the first question.
  std::optional<SearchEvent> Overdue();
  Task<SearchEvent> Wait();
  Task<absl::Status> AskForModel();
  absl::StatusOr<std::shared_ptr<WorkerConnection>> Found();
  absl::Status WhyNotReady() const;

  bool Fits(const VersionRoute& version) const;
  const VersionRoute* Choose(const ModelRoute& route) const;
  std::chrono::milliseconds Patience() const;
  // The clock's time as a time of timers, which run by the machine's.
  TimePoint TimerOf(TimePoint time) const;

  SearchEvent EventOf(const CallEnd& end) const;
  std::optional<absl::Status> Leave(SearchEvent event, const CallEnd& end);
  void Rest(SearchEvent event, const absl::Status& status);

  bool EnterGate();
  void LeaveGate();

  Upstream& upstream_;
  const Wanted wanted_;
  const Executor executor_;

  // Of the newest look; `route_` and `chosen_` point into the table.
  SearchState state_ = SearchState::kNoRoute;
  std::shared_ptr<const RouteTable> table_;
  const ModelRoute* route_ = nullptr;
  const VersionRoute* chosen_ = nullptr;

  // Of the worker that was the first to begin the request.
  std::optional<Version> pinned_;
  Call call_;
  // Until then the routes that led to a worker which failed are not believed; unset: they are.
  std::optional<TimePoint> rest_until_;
  // When to stop waiting for a worker; unset while none is waited for.
  std::optional<TimePoint> give_up_;
  // When to ask (again) for an unloaded model.
  TimePoint ask_at_ = TimePoint::min();
  // How a worker put it that left the request to others; OK: none has since it last got further.
  absl::Status turned_away_;
  DeathBlame blame_;
  // It has lost a worker and not got further since.
  bool moved_ = false;

  absl::Status ended_;
  // Ends whatever is waited for.
  const std::shared_ptr<Signal> wake_ = std::make_shared<Signal>(executor_);
  // Key of the gate that it holds; empty: none.
  std::string gate_held_;
  // Ends its turn; null: nothing does but itself.
  std::shared_ptr<boost::asio::steady_timer> turn_;
  const std::shared_ptr<void> running_;
};

}  // namespace inferd::gateway
