// One request from the first worker to the last token: when a worker dies or its time is over (a swap's drain) it goes
// on where it stopped on the next one that gives the same bits (worker_search.h), so that the consumer sees one
// unbroken stream.
//
//   Generation generation(upstream, request, {.sticky = hash, .request_id = id}, executor);
//   while (true) {
//     GenerationBatch batch = co_await generation.Next();
//     ...
//     if (batch.end) break;
//   }
//
// All calls on the executor's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gateway/calls/generate_call.h"
#include "gateway/calls/resume_record.h"
#include "gateway/routing/worker_search.h"

namespace inferd::gateway {

// Events in order; `end` after the last, OK if every choice finished.
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

  Task<GenerationBatch> Next();
  // The next batch ends with CANCELLED; the worker is told at once.
  void Cancel();

  // Whether a worker has begun it.
  bool accepted() const { return search_.accepted(); }
  // Of a generation that has ended.
  v1::GenerateRequest TakeRequest() { return std::move(record_.request()); }

 private:
  // Starts a call on a ready worker.
  Task<absl::Status> Connect();
  // Leaves what the consumer is to see. False: a worker that gives other bits has taken it.
  bool Take(std::vector<v1::GenerateEvent>& events);
  // Whether the request goes on after this end of a call; if not, the status to end with.
  std::optional<absl::Status> AfterEnd(const CallEnd& end);

  const Options options_;
  const Executor executor_;
  ResumeRecord record_;
  WorkerSearch search_;
  // Null between two workers.
  std::shared_ptr<GenerateCall> call_;
};

}  // namespace inferd::gateway
