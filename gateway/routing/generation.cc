#include "gateway/routing/generation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_call.h"

namespace inferd::gateway {
namespace {

using std::chrono::steady_clock;

constexpr uint32_t kMaxChoices = 128;
// How long a table that led to a dead worker is given to change before its worker is tried again.
constexpr auto kStaleTableRest = std::chrono::milliseconds(50);

absl::Status NotServing(std::string_view model, std::string_view state) {
  absl::Status status = Unavailable("the model '{}' is not ready (state {})", model, state);
  SetRetryAfter(status, kNotReadyRetrySeconds);
  return status;
}

}  // namespace

absl::Status CheckResumeTokens(const v1::GenerateRequest& request) {
  const uint32_t choices = std::clamp(request.choices(), 1u, kMaxChoices);
  std::set<uint32_t> seen;
  for (const v1::ResumeState& state : request.resume_tokens()) {
    if (state.choice() >= choices) {
      return InvalidArgument("resume_tokens: choice {} is not below {}", state.choice(), choices);
    }
    if (!seen.insert(state.choice()).second) {
      return InvalidArgument("resume_tokens: choice {} is there twice", state.choice());
    }
  }
  return absl::OkStatus();
}

Generation::Generation(Upstream& upstream, v1::GenerateRequest request, Options options, Executor executor)
    : upstream_(upstream),
      request_(std::move(request)),
      options_(std::move(options)),
      executor_(std::move(executor)),
      resumes_(request_.resume_tokens_size() > 0),
      running_(upstream.running.Add(executor_, [this](const absl::Status& why) { EndWith(why); })) {
  // A worker refuses more than the contract allows; no memory is spent on them before.
  for (uint32_t i = 0; i < std::clamp(request_.choices(), 1u, kMaxChoices); ++i) choices_[i];
  for (const v1::ResumeState& state : request_.resume_tokens()) {
    choices_[state.choice()] = {.ids = {state.ids().begin(), state.ids().end()},
                                .delivered_bytes = state.delivered_bytes(),
                                .finished = state.finished()};
  }
}

Generation::~Generation() {
  if (call_) call_->Cancel();
  LeaveGate();
}

void Generation::Cancel() { EndWith(Cancelled("the client is gone")); }

void Generation::EndWith(const absl::Status& status) {
  if (ended_.ok()) ended_ = status;
  if (call_) call_->Cancel();
  wake_->Notify();
}

bool Generation::all_finished() const {
  return std::all_of(choices_.begin(), choices_.end(), [](const auto& entry) { return entry.second.finished; });
}

Task<GenerationBatch> Generation::Next(TimePoint deadline) {
  GenerationBatch batch;
  while (true) {
    if (!ended_.ok()) {
      batch.end = ended_;
      co_return batch;
    }
    if (!call_) {
      if (!std::exchange(checked_, true)) {
        const absl::Status allowed = upstream_.poison.Check(request_, options_.caller);
        if (!allowed.ok()) {
          batch.end = allowed;
          co_return batch;
        }
      }
      absl::Status connected = co_await Connect(deadline);
      if (!connected.ok()) batch.end = connected;
      if (!call_) co_return batch;
    }
    EventBatch got = co_await call_->Next(deadline);
    if (got.events.empty() && !got.end) co_return batch;
    if (!Record(got.events)) {
      // Its file changed, and nobody has noticed yet.
      std::exchange(call_, nullptr)->Cancel();
      LeaveGate();
      failed_ = true;
      continue;
    }
    batch.events = std::move(got.events);
    if (got.end) {
      call_.reset();
      batch.end = AfterEnd(*got.end);
      if (!ended_.ok() && batch.end && absl::IsCancelled(*batch.end)) batch.end = ended_;
    }
    if (!batch.events.empty() || batch.end) co_return batch;
  }
}

bool Generation::GivesSameBits(const VersionRoute& version) const {
  return version.version == version_ || (!fingerprint_.empty() && version.fingerprint == fingerprint_);
}

const VersionRoute* Generation::ChooseVersion(const ModelRoute& route, bool& coming) const {
  coming = route.coming() || MustBeLoaded(route);
  if (!accepted_) return PickVersion(route, options_.sticky);
  coming = MustBeLoaded(route);
  const VersionRoute* chosen = nullptr;
  for (const VersionRoute& version : route.versions) {
    if (!GivesSameBits(version)) continue;
    if (version.ready() && (chosen == nullptr || version.version == version_)) chosen = &version;
    coming = coming || version.coming();
  }
  return chosen;
}

bool Generation::MustBeLoaded(const ModelRoute& route) const {
  if (upstream_.ensure_loaded == nullptr) return false;
  if (!accepted_) return !route.coming() && route.loadable();
  return std::any_of(route.versions.begin(), route.versions.end(),
                     [this](const VersionRoute& version) { return version.unloaded() && GivesSameBits(version); });
}

absl::Status Generation::WhyNoWorker(const ModelRoute* route) const {
  if (!withdrawn_.ok()) return withdrawn_;
  if (route == nullptr) return NotServing(request_.model(), "STOPPED");
  if (!accepted_) return NotServing(request_.model(), route->state());
  const auto same =
      std::ranges::find_if(route->versions, [this](const VersionRoute& version) { return GivesSameBits(version); });
  if (same != route->versions.end()) return NotServing(request_.model(), same->state);
  return Unavailable("the version of the model '{}' that answered is gone, and no other would give the same answer",
                     request_.model());
}

Task<absl::Status> Generation::Connect(TimePoint deadline) {
  while (true) {
    TimePoint now = steady_clock::now();
    if (!ended_.ok() || now >= deadline) co_return ended_;
    if (now >= options_.deadline) co_return DeadlineExceeded("the request's deadline passed");
    std::shared_ptr<const RouteTable> table = upstream_.routes.Current();
    const ModelRoute* route = table->Find(request_.model());
    if (route == nullptr && !accepted_) co_return NotFound("the model '{}' does not exist", request_.model());
    bool coming = false;
    const VersionRoute* version = route == nullptr ? nullptr : ChooseVersion(*route, coming);
    if (version == nullptr && !coming && !failed_) co_return WhyNoWorker(route);
    if (!give_up_) {
      bool loads = route != nullptr && route->on_demand;
      give_up_ = now + (accepted_ ? upstream_.resume_wait : loads ? upstream_.load_wait : upstream_.start_wait);
    }
    if (now >= *give_up_) co_return WhyNoWorker(route);
    TimePoint wait_until = std::min({deadline, options_.deadline, *give_up_});

    if (version == nullptr) {
      // A dead worker may still be missing from the table's states: one more look before it is given up.
      if (std::exchange(failed_, false)) wait_until = std::min(wait_until, now + kStaleTableRest);
      if (route != nullptr && MustBeLoaded(*route)) {
        if (now >= ask_at_) {
          ask_at_ = now + kAskForModelAgain;
          absl::Status asked = co_await AskForModel(upstream_, route->model, executor_);
          if (!asked.ok()) co_return asked;
        }
        wait_until = std::min(wait_until, ask_at_);
      }
      co_await upstream_.routes.WaitForUpdate(table, executor_, wait_until, wake_);
    } else if (failed_ && table == routed_by_) {
      failed_ = false;
      co_await upstream_.routes.WaitForUpdate(table, executor_, std::min(wait_until, now + kStaleTableRest), wake_);
    } else if (std::string key = route->model;
               blame_.is_suspect() && gate_held_.empty() && !upstream_.gate.TryEnter(key)) {
      co_await upstream_.gate.WaitForTurn(key, executor_, std::min(deadline, options_.deadline), wake_);
      give_up_.reset();  // it waited for others, not for a worker
    } else {
      if (blame_.is_suspect()) {
        gate_held_ = key;
        // Another of the same kind may have been found out meanwhile.
        if (absl::Status allowed = upstream_.poison.Check(request_, options_.caller); !allowed.ok()) co_return allowed;
      }
      routed_by_ = table;
      StartCall(*version);
      co_return absl::OkStatus();
    }
  }
}

void Generation::StartCall(const VersionRoute& version) {
  if (options_.deadline != TimePoint::max()) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline - steady_clock::now());
    request_.set_deadline_ms(std::max<int64_t>(1, left.count()));
  }
  AddResumeState();
  begun_since_start_ = progress_since_start_ = waits_ = false;
  patience_left_ = give_up_ ? *give_up_ - steady_clock::now() : steady_clock::duration(0);
  goes_on_ = accepted_;
  call_ = GenerateCall::Start(upstream_.workers.Get(version.address), request_,
                              {.deadline = options_.deadline, .request_id = options_.request_id}, executor_);
}

void Generation::AddResumeState() {
  request_.clear_resume_tokens();
  if (!accepted_ && !resumes_) return;
  if (prompt_reported_) request_.set_prompt_logprobs(false);
  for (const auto& [index, choice] : choices_) {
    v1::ResumeState* state = request_.add_resume_tokens();
    state->set_choice(index);
    state->mutable_ids()->Add(choice.ids.begin(), choice.ids.end());
    state->set_delivered_bytes(choice.delivered_bytes);
    state->set_finished(choice.finished);
  }
}

bool Generation::Record(std::vector<v1::GenerateEvent>& events) {
  bool got_further = false;
  for (const v1::GenerateEvent& event : events) {
    if (accepted_ && event.has_accepted() && event.accepted().fingerprint() != fingerprint_) return false;
    waits_ = event.has_waiting();
    begun_since_start_ = begun_since_start_ || event.has_accepted();
    if (event.has_accepted() && !accepted_) {
      accepted_ = true;
      version_ = event.accepted().model_version();
      fingerprint_ = event.accepted().fingerprint();
      // A random seed is the same one after a resumption, and so is the date in the prompt.
      request_.set_seed(event.accepted().seed());
      request_.set_rendered_unix_seconds(event.accepted().rendered_unix_seconds());
      continue;
    }
    if (event.has_delta() && event.delta().kind() == v1::Delta::KIND_PROMPT) {
      prompt_reported_ = true;
    } else if (event.has_delta()) {
      const v1::Delta& delta = event.delta();
      Choice& choice = choices_[delta.choice()];
      choice.ids.insert(choice.ids.end(), delta.token_ids().begin(), delta.token_ids().end());
      const v1::ToolCallDelta& call = delta.tool_call();
      choice.delivered_bytes += delta.text().size() + call.id().size() + call.name().size() + call.arguments().size();
      got_further = true;
    } else if (event.has_finished()) {
      choices_[event.finished().choice()].finished = true;
      got_further = true;
    }
  }
  // The consumer sees `accepted` once, and what is between workers and us never.
  std::erase_if(events, [this](const v1::GenerateEvent& event) {
    return event.has_waiting() || (goes_on_ && event.has_accepted());
  });
  if (got_further) {
    if (!std::exchange(progress_since_start_, true) && moved_) upstream_.on_resumed(request_.model());
    moved_ = false;
    give_up_.reset();
    withdrawn_ = absl::OkStatus();
    LeaveGate();
  }
  return true;
}

void Generation::LeaveGate() {
  if (!gate_held_.empty()) upstream_.gate.Leave(std::exchange(gate_held_, ""));
}

std::optional<absl::Status> Generation::AfterEnd(const CallEnd& end) {
  LeaveGate();
  if (progress_since_start_) blame_.Forget();
  if (end.outcome == CallOutcome::kAnswered) {
    if (end.status.ok() && !all_finished()) return Internal("the worker's stream ended before its last choice");
    // The worker drains or loads: another takes it, from where it is.
    const bool try_again = absl::IsUnavailable(end.status) && !(accepted_ && upstream_.shutting_down);
    if (!try_again) return end.status;
    if (accepted_) withdrawn_ = end.status;
    if (begun_since_start_) give_up_.reset();
    if (give_up_) give_up_ = steady_clock::now() + patience_left_;
  }
  // The last event came, only the final status did not.
  if (accepted_ && all_finished()) return absl::OkStatus();
  failed_ = true;
  moved_ = moved_ || accepted_;
  if (end.outcome != CallOutcome::kWorkerLost) return std::nullopt;
  moved_ = true;
  ++deaths_;
  // The wait for the next worker begins now, however long this request ran or queued on the one that died.
  give_up_.reset();
  if (!blame_.Add(end.begun && !waits_)) return std::nullopt;
  return upstream_.poison.Add(request_, options_.caller);
}

}  // namespace inferd::gateway
