// One request from the first worker to the last token: finds a worker that is ready (waiting, with a bound, for one
// that is about to be), and when a worker dies or its time is over (a swap's drain) goes on where it stopped on the
// next one that gives the same bits, so that the consumer sees one unbroken stream.
//
//   Generation generation(upstream, request, {.sticky = hash, .request_id = id}, executor);
//   while (true) {
//     GenerationBatch batch = co_await generation.Next(now + 15s);
//     ...
//     if (batch.end) break;
//   }
//
// A request under which two workers die in a row, while they read or compute it and without its having got further,
// ends with INTERNAL and is refused for a while. One that waited in a queue when its worker died is not to blame. All
// calls on the executor's thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gateway/routing/death_blame.h"
#include "gateway/routing/generate_call.h"
#include "gateway/routing/running_generations.h"

namespace inferd::gateway {

class PoisonList;
class ResumeGate;
class RouteTable;
class Routes;
struct ModelRoute;
struct VersionRoute;

// What all generations share.
struct Upstream {
  Routes& routes;
  WorkerPool& workers;
  PoisonList& poison;
  ResumeGate& gate;
  // Longest wait for a worker that is about to be ready: at the start, and in the middle of a stream.
  std::chrono::milliseconds start_wait{10'000};
  std::chrono::milliseconds resume_wait{60'000};
  // And at the start for one that is loaded because of the request.
  std::chrono::milliseconds load_wait{60'000};
  // The daemon ends: what runs is finished, nothing is begun.
  std::atomic<bool> shutting_down{false};
  // Asks the supervisor to load a model; null: nobody can be asked.
  std::function<Task<absl::Status>(std::string model, Executor executor)> ensure_loaded = nullptr;
  // A request of this model went on after it had lost its worker.
  std::function<void(const std::string& model)> on_resumed = [](const std::string&) {};
  RunningGenerations running{};
};

// INVALID_ARGUMENT: resume_tokens has a choice that the request has not, or one twice.
absl::Status CheckResumeTokens(const v1::GenerateRequest& request);

// For Retry-After where a model is not ready and nothing says when it will be.
inline constexpr int kNotReadyRetrySeconds = 5;

// Events in order; `end` after the last, OK if every choice finished. Both empty: the deadline of Next() passed.
struct GenerationBatch {
  std::vector<v1::GenerateEvent> events;
  std::optional<absl::Status> end;
};

class Generation {
 public:
  struct Options {
    TimePoint deadline = TimePoint::max();
    // Decides among the versions of a model.
    uint64_t sticky = 0;
    std::string request_id;
    // Who is to blame for deaths (poison_list.h).
    std::string caller;
  };

  // `request` may go on where an earlier answer broke off (resume_tokens, which are checked).
  Generation(Upstream& upstream, v1::GenerateRequest request, Options options, Executor executor);
  // Cancels what still runs.
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  Task<GenerationBatch> Next(TimePoint deadline);
  // The next batch ends with CANCELLED; the worker is told at once.
  void Cancel();

  // The next batch ends with this status.
  void EndWith(const absl::Status& status);

  // Whether a worker has begun it.
  bool accepted() const { return accepted_; }
  // Of a generation that has ended.
  v1::GenerateRequest TakeRequest() { return std::move(request_); }

  // Workers that died under this request.
  int deaths() const { return deaths_; }

 private:
  struct Choice {
    std::vector<int32_t> ids;
    uint64_t delivered_bytes = 0;
    bool finished = false;
  };

  // Starts a call on a ready worker, or leaves call_ null if `deadline` passes first.
  Task<absl::Status> Connect(TimePoint deadline);
  // Of an accepted request: whether it can go on there.
  bool GivesSameBits(const VersionRoute& version) const;
  const VersionRoute* ChooseVersion(const ModelRoute& route, bool& coming) const;
  // Whether the version that it waits for comes only when the supervisor is asked for it.
  bool MustBeLoaded(const ModelRoute& route) const;
  absl::Status WhyNoWorker(const ModelRoute* route) const;
  void StartCall(const VersionRoute& version);
  // False: a worker that gives other bits has taken it.
  bool Record(std::vector<v1::GenerateEvent>& events);
  // Whether the request goes on after this end of a call; if not, the status to end with.
  std::optional<absl::Status> AfterEnd(const CallEnd& end);
  void AddResumeState();
  void LeaveGate();
  bool all_finished() const;

  Upstream& upstream_;
  v1::GenerateRequest request_;
  const Options options_;
  const Executor executor_;

  std::shared_ptr<GenerateCall> call_;
  // The table by which the newest call was routed: after a failure it is likely out of date.
  std::shared_ptr<const RouteTable> routed_by_;
  bool failed_ = false;
  // Why it is to end, from outside; OK: it is not.
  absl::Status ended_;
  // Ends what it waits for beside a call.
  const std::shared_ptr<Signal> wake_ = std::make_shared<Signal>(executor_);
  bool checked_ = false;
  // The client brought what it has of an earlier answer.
  const bool resumes_;
  // Set by the first `accepted`.
  bool accepted_ = false;
  uint64_t version_ = 0;
  std::string fingerprint_;
  std::map<uint32_t, Choice> choices_;
  bool prompt_reported_ = false;

  // When to stop waiting for a worker; unset while none is waited for. Time in a worker's hands does not count.
  std::optional<TimePoint> give_up_;
  std::chrono::steady_clock::duration patience_left_{0};
  // How a worker ended it that it had accepted; OK: none did since it last got further.
  absl::Status withdrawn_;
  // When to ask (again) for an unloaded model.
  TimePoint ask_at_ = TimePoint::min();
  int deaths_ = 0;
  DeathBlame blame_;
  // It has lost its worker and not got further since.
  bool moved_ = false;
  // Of the newest call: the worker has said that it computes it; tokens came; it waits for its turn.
  bool begun_since_start_ = false;
  bool progress_since_start_ = false;
  bool waits_ = false;
  // The newest call goes on with an accepted request.
  bool goes_on_ = false;
  // Key of the gate that this generation holds; empty: none.
  std::string gate_held_;
  const std::shared_ptr<void> running_;
};

}  // namespace inferd::gateway
