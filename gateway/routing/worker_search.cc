#include "gateway/routing/worker_search.h"

#include <utility>

#include "config/base/clock.h"
#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"

namespace inferd::gateway {
namespace {

// How long routes that led to a worker which failed are given to change before that worker is tried again.
constexpr auto kRest = std::chrono::milliseconds(50);
// A request that waits for an unloaded model asks for it again after this time.
constexpr auto kAskAgain = std::chrono::seconds(5);

absl::Status NotReady(std::string_view model, std::string_view state) {
  absl::Status status = Unavailable("the model '{}' is not ready (state {})", model, state);
  SetRetryAfter(status, kNotReadyRetrySeconds);
  return status;
}

absl::Status Impossible(SearchState state, SearchEvent event) {
  return Internal("the search for a worker met '{}' in the state '{}'", NameOf(event), NameOf(state));
}

}  // namespace

WorkerSearch::WorkerSearch(Upstream& upstream, Wanted wanted, Executor executor)
    : upstream_(upstream),
      wanted_(std::move(wanted)),
      executor_(std::move(executor)),
      running_(upstream.running.Add(executor_, [this](const absl::Status& why) { EndWith(why); })) {
  ended_ = upstream.running.ended();
}

WorkerSearch::~WorkerSearch() { LeaveGate(); }

Task<absl::StatusOr<std::shared_ptr<WorkerConnection>>> WorkerSearch::Next() {
  if (call_.table == nullptr) {
    if (absl::Status allowed = upstream_.poison.Check(*wanted_.request, wanted_.caller); !allowed.ok()) {
      co_return allowed;
    }
  }
  Look();
  SearchEvent event = SearchEvent::kLooked;
  while (true) {
    event = Overdue().value_or(event);
    switch (ActionOf(state_, event)) {
      case SearchAction::kBelieve:
        rest_until_.reset();
        [[fallthrough]];
      case SearchAction::kLook:
        Look();
        event = SearchEvent::kLooked;
        continue;
      case SearchAction::kAsk:
        if (absl::Status asked = co_await AskForModel(); !asked.ok()) co_return asked;
        [[fallthrough]];
      case SearchAction::kWait:
        event = co_await Wait();
        continue;
      case SearchAction::kCall:
        co_return Found();
      case SearchAction::kEndNotReady:
        co_return WhyNotReady();
      case SearchAction::kEndLate:
        co_return DeadlineExceeded("the request's deadline passed");
      case SearchAction::kEndAsTold:
        co_return ended_;
      default:
        co_return Impossible(state_, event);
    }
  }
}

void WorkerSearch::Look() {
  table_ = upstream_.routes.Current();
  route_ = table_->Find(wanted_.model);
  chosen_ = route_ == nullptr ? nullptr : Choose(*route_);
  Sight sight{.ready = chosen_ != nullptr, .failed = rest_until_.has_value(), .same = table_ == call_.table};
  if (route_ != nullptr) {
    const auto any = [this](bool (VersionRoute::*is)() const) {
      return std::ranges::any_of(route_->versions, [&](const VersionRoute& v) { return Fits(v) && (v.*is)(); });
    };
    sight.coming = pinned_ ? any(&VersionRoute::coming) : route_->coming();
    const bool unloaded = pinned_ ? any(&VersionRoute::unloaded) : !sight.coming && route_->loadable();
    sight.loadable = unloaded && upstream_.ensure_loaded != nullptr;
  }
  if (StateOf(sight) == SearchState::kReady) sight.must_queue = blame_.is_suspect() && !EnterGate();
  state_ = StateOf(sight);
}

std::optional<SearchEvent> WorkerSearch::Overdue() {
  const TimePoint now = upstream_.clock.Now();
  if (!ended_.ok()) return SearchEvent::kEnded;
  if (now >= wanted_.deadline) return SearchEvent::kDeadlinePassed;
  if (!give_up_) give_up_ = now + Patience();
  if (now >= *give_up_) return SearchEvent::kPatienceOver;
  return std::nullopt;
}

Task<SearchEvent> WorkerSearch::Wait() {
  if (state_ == SearchState::kGated) {
    co_await upstream_.gate.WaitForTurn(route_->model, executor_, TimerOf(wanted_.deadline), wake_);
    give_up_.reset();  // it waited for others, not for a worker
    co_return SearchEvent::kChanged;
  }
  TimePoint pause = TimePoint::max();
  if (state_ == SearchState::kStale) pause = *rest_until_;
  if (state_ == SearchState::kLoading) pause = ask_at_;
  const TimePoint until = TimerOf(std::min({wanted_.deadline, *give_up_, pause}));
  co_await upstream_.routes.WaitForUpdate(table_, executor_, until, wake_);
  const bool changed = upstream_.routes.Current() != table_;
  co_return !changed && upstream_.clock.Now() >= pause ? SearchEvent::kPauseOver : SearchEvent::kChanged;
}

TimePoint WorkerSearch::TimerOf(TimePoint time) const {
  if (time == TimePoint::max()) return time;
  return std::chrono::steady_clock::now() + (time - upstream_.clock.Now());
}

bool WorkerSearch::Fits(const VersionRoute& version) const {
  if (!pinned_ || version.version == pinned_->number) return true;
  return !pinned_->fingerprint.empty() && version.fingerprint == pinned_->fingerprint;
}

// Of versions with the same bits, the one that answered before.
const VersionRoute* WorkerSearch::Choose(const ModelRoute& route) const {
  if (!pinned_) return PickVersion(route, wanted_.sticky);
  const VersionRoute* chosen = nullptr;
  for (const VersionRoute& version : route.versions) {
    if (!Fits(version) || !version.ready()) continue;
    if (chosen == nullptr || version.version == pinned_->number) chosen = &version;
  }
  return chosen;
}

std::chrono::milliseconds WorkerSearch::Patience() const {
  if (pinned_) return upstream_.resume_wait;
  return route_ != nullptr && route_->on_demand ? upstream_.load_wait : upstream_.start_wait;
}

Task<absl::Status> WorkerSearch::AskForModel() {
  const TimePoint now = upstream_.clock.Now();
  if (now < ask_at_) co_return absl::OkStatus();
  ask_at_ = now + kAskAgain;
  const std::string model = route_->model;
  absl::Status asked = co_await upstream_.ensure_loaded(model, executor_);
  // A supervisor that does not answer may do so the next time; the wait has its bound.
  if (asked.ok() || absl::IsUnavailable(asked) || absl::IsDeadlineExceeded(asked)) co_return absl::OkStatus();
  absl::Status status = Unavailable("the model '{}' cannot be loaded: {}", model, MessageOf(asked));
  SetRetryAfter(status, kNotReadyRetrySeconds);
  co_return status;
}

absl::Status WorkerSearch::WhyNotReady() const {
  if (route_ == nullptr && !pinned_) return NotFound("the model '{}' does not exist", wanted_.model);
  const bool still_there = state_ == SearchState::kReady || state_ == SearchState::kStale;
  if (!turned_away_.ok() && (pinned_ || still_there)) return turned_away_;
  if (route_ == nullptr) return NotReady(wanted_.model, "STOPPED");
  if (!pinned_) return NotReady(wanted_.model, route_->state());
  const auto same = std::ranges::find_if(route_->versions, [this](const VersionRoute& v) { return Fits(v); });
  if (same != route_->versions.end()) return NotReady(wanted_.model, same->state);
  return Unavailable("the version of the model '{}' that answered is gone, and no other would give the same answer",
                     wanted_.model);
}

absl::StatusOr<std::shared_ptr<WorkerConnection>> WorkerSearch::Found() {
  if (!gate_held_.empty()) {
    // Another of the same kind may have been found out meanwhile.
    RETURN_IF_ERROR(upstream_.poison.Check(*wanted_.request, wanted_.caller));
  }
  rest_until_.reset();
  call_ = {.table = table_, .patience_left = *give_up_ - upstream_.clock.Now()};
  return upstream_.workers.Get(chosen_->address);
}

void WorkerSearch::Calling(std::function<void()> cancel) {
  call_.cancel = std::move(cancel);
  if (!ended_.ok()) call_.cancel();
}

void WorkerSearch::Accepted(uint64_t version, const std::string& fingerprint) {
  call_.stage = std::max(call_.stage, Stage::kAccepted);
  if (pinned_) return;
  pinned_ = {.number = version, .fingerprint = fingerprint};
  turned_away_ = absl::OkStatus();
}

void WorkerSearch::GotFurther() {
  if (std::exchange(call_.stage, Stage::kGotFurther) != Stage::kGotFurther && moved_) {
    upstream_.on_resumed(wanted_.model);
  }
  moved_ = false;
  give_up_.reset();
  turned_away_ = absl::OkStatus();
  LeaveGate();
}

SearchEvent WorkerSearch::EventOf(const CallEnd& end) const {
  if (end.outcome == CallOutcome::kWorkerLost) return SearchEvent::kLost;
  if (end.outcome == CallOutcome::kNotReached) return SearchEvent::kNotReached;
  // While the daemon ends no other takes it.
  const bool turned_away = absl::IsUnavailable(end.status) && !upstream_.shutting_down;
  return turned_away ? SearchEvent::kTurnedAway : SearchEvent::kAnswered;
}

std::optional<absl::Status> WorkerSearch::AfterEnd(const CallEnd& end) { return Leave(EventOf(end), end); }

std::optional<absl::Status> WorkerSearch::AfterOtherBits() { return Leave(SearchEvent::kOtherBits, CallEnd()); }

std::optional<absl::Status> WorkerSearch::Leave(SearchEvent event, const CallEnd& end) {
  LeaveGate();
  call_.cancel = nullptr;
  if (call_.stage == Stage::kGotFurther) blame_.Forget();
  const SearchAction action = ActionOf(state_, event);
  if (action == SearchAction::kRest || action == SearchAction::kBlame) Rest(event, end.status);
  std::optional<absl::Status> guilty;
  if (action == SearchAction::kBlame && blame_.Add(end.begun && call_.stage != Stage::kWaits)) {
    guilty = upstream_.poison.Add(*wanted_.request, wanted_.caller);
  }
  if (!ended_.ok()) return ended_;
  if (action == SearchAction::kEndAnswered) return end.status;
  if (action == SearchAction::kImpossible) return Impossible(state_, event);
  return guilty;
}

void WorkerSearch::Rest(SearchEvent event, const absl::Status& status) {
  const TimePoint now = upstream_.clock.Now();
  rest_until_ = now + kRest;
  if (event == SearchEvent::kOtherBits) return;
  moved_ = moved_ || pinned_ || event == SearchEvent::kLost;
  if (event == SearchEvent::kTurnedAway || (event == SearchEvent::kNotReached && !pinned_)) turned_away_ = status;
  // The wait for the next worker begins now, however long this request ran or queued on the one that is gone.
  if (event == SearchEvent::kLost || (event == SearchEvent::kTurnedAway && call_.stage >= Stage::kAccepted)) {
    give_up_.reset();
  } else if (event == SearchEvent::kTurnedAway) {
    give_up_ = now + call_.patience_left;
  }
}

void WorkerSearch::EndWith(const absl::Status& why) {
  if (ended_.ok()) ended_ = why;
  if (call_.cancel) call_.cancel();
  wake_->Notify();
}

bool WorkerSearch::EnterGate() {
  if (!gate_held_.empty()) return true;
  if (!upstream_.gate.TryEnter(route_->model)) return false;
  gate_held_ = route_->model;
  if (!wanted_.longest_turn) return true;
  turn_ = std::make_shared<boost::asio::steady_timer>(executor_, *wanted_.longest_turn);
  turn_->async_wait([this, turn = std::weak_ptr(turn_)](const boost::system::error_code& error) {
    if (!error && !turn.expired()) LeaveGate();
  });
  return true;
}

void WorkerSearch::LeaveGate() {
  turn_.reset();  // cancels
  if (!gate_held_.empty()) upstream_.gate.Leave(std::exchange(gate_held_, ""));
}

}  // namespace inferd::gateway
