#include "gateway/calls/generation.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"

namespace inferd::gateway {

using std::chrono::steady_clock;

Generation::Generation(Upstream& upstream, v1::GenerateRequest request, Options options, Executor executor)
    : options_(std::move(options)),
      executor_(std::move(executor)),
      record_(std::move(request)),
      search_(upstream,
              {.model = record_.request().model(),
               .request = &record_.request(),
               .sticky = options_.sticky,
               .caller = options_.caller,
               .deadline = options_.deadline},
              executor_) {}

Generation::~Generation() {
  if (call_) call_->Cancel();
}

void Generation::Cancel() { search_.EndWith(Cancelled("the client is gone")); }

Task<GenerationBatch> Generation::Next() {
  GenerationBatch batch;
  while (true) {
    absl::Status ended = search_.ended();
    if (ended.ok() && !call_) ended = co_await Connect();
    if (!ended.ok()) {
      batch.end = ended;
      co_return batch;
    }
    EventBatch got = co_await call_->Next(TimePoint::max());
    if (!Take(got.events)) {
      // Its file changed, and nobody has noticed yet.
      std::exchange(call_, nullptr)->Cancel();
      batch.end = search_.AfterOtherBits();
      if (batch.end) co_return batch;
      continue;
    }
    batch.events = std::move(got.events);
    if (got.end) {
      call_.reset();
      batch.end = AfterEnd(*got.end);
    }
    if (!batch.events.empty() || batch.end) co_return batch;
  }
}

Task<absl::Status> Generation::Connect() {
  absl::StatusOr<std::shared_ptr<WorkerConnection>> worker = co_await search_.Next();
  if (!worker.ok()) co_return worker.status();
  if (options_.deadline != TimePoint::max()) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline - steady_clock::now());
    record_.request().set_deadline_ms(std::max<int64_t>(1, left.count()));
  }
  call_ = GenerateCall::Start(*std::move(worker), record_.NextRequest(),
                              {.deadline = options_.deadline, .request_id = options_.request_id}, executor_);
  search_.Calling([call = call_] { call->Cancel(); });
  co_return absl::OkStatus();
}

bool Generation::Take(std::vector<v1::GenerateEvent>& events) {
  bool got_further = false;
  size_t shown = 0;
  for (v1::GenerateEvent& event : events) {
    const bool goes_on = search_.accepted();
    if (event.has_waiting()) search_.Waits();
    if (event.has_accepted()) {
      if (!search_.GivesSameBits(event.accepted().fingerprint())) return false;
      search_.Accepted(event.accepted().model_version(), event.accepted().fingerprint());
    }
    got_further = record_.Take(event) || got_further;
    // The consumer sees `accepted` once, and what is between workers and us never.
    if (event.has_waiting() || (event.has_accepted() && goes_on)) continue;
    if (v1::GenerateEvent& place = events[shown++]; &place != &event) place = std::move(event);
  }
  events.resize(shown);
  if (got_further) search_.GotFurther();
  return true;
}

std::optional<absl::Status> Generation::AfterEnd(const CallEnd& end) {
  const bool complete = record_.all_finished();
  if (end.status.ok()) {
    return complete ? absl::OkStatus() : Internal("the worker's stream ended before its last choice");
  }
  // The last event came, only the final status did not.
  if (complete && search_.accepted() && absl::IsUnavailable(end.status)) return absl::OkStatus();
  return search_.AfterEnd(end);
}

}  // namespace inferd::gateway
