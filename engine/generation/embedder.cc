// Step: drop what has ended, plan a pass, run it, answer the requests that are complete.
#include "engine/generation/embedder.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/refusal.h"
#include "engine/scheduler/expected_wait.h"

namespace inferd::engine {

absl::Status Validate(const EmbeddingRequest& request, const RequestLimits& limits) {
  if (!request.second_texts.empty() && request.second_texts.size() != request.inputs.size()) {
    return InvalidField("second_texts", "{} places, expected one for each of {} inputs", request.second_texts.size(),
                        request.inputs.size());
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const std::vector<int32_t>& tokens = request.inputs[i];
    if (tokens.empty()) return InvalidField(fmt::format("inputs[{}]", i), "it has no tokens, expected at least 1");
    if (static_cast<int64_t>(tokens.size()) > WindowTokens(limits)) {
      return AtField(fmt::format("inputs[{}]", i),
                     OutOfRange("{}, but the input has {} tokens", WindowText(limits), tokens.size()));
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < limits.vocabulary_size) continue;
      return InvalidField(fmt::format("inputs[{}]", i), "id {} is not in the vocabulary of {} tokens", token,
                          limits.vocabulary_size);
    }
  }
  return absl::OkStatus();
}

void Embedder::Submit(EmbeddingRequest request, MonotonicTime arrival) {
  auto job = std::make_unique<Job>();
  job->arrival = job->last_served = job->last_answer = arrival;
  job->last_served_pass = passes_;
  for (const std::vector<int32_t>& input : request.inputs) job->tokens_left += static_cast<int64_t>(input.size());
  job->inputs.resize(request.inputs.size());
  job->vectors.resize(request.inputs.size());
  job->request = std::move(request);
  jobs_.push_back(std::move(job));
}

int64_t Embedder::Step(MonotonicTime now, const scheduler::Rates& rates, const scheduler::Load& others,
                       int64_t most_tokens) {
  DropEnded(now, rates, others);
  ++passes_;
  const std::vector<Part> parts = PlanPass(now, others, most_tokens);
  int64_t tokens = 0;
  for (const Part& part : parts) {
    Job& job = *part.job;
    if (!std::exchange(job.begun, true) && job.request.begun) job.request.begun();
    job.last_served = now;
    job.last_served_pass = passes_;
    tokens += part.tokens;
  }
  if (parts.empty()) {
    // Each may hold the pages that the first one waits for.
    while (CountOpen() > 1) Release(scheduler::kBestPriority, now);
  } else if (const absl::Status status = RunPass(parts, now); !status.ok()) {
    CancelAll(Annotate(status, "forward pass"));
  }
  AnswerComplete();
  return tokens;
}

void Embedder::AnswerComplete() {
  std::erase_if(jobs_, [](const std::unique_ptr<Job>& job) {
    if (job->first_open < job->inputs.size()) return false;
    job->request.done(std::move(job->vectors));
    return true;
  });
}

void Embedder::DropEnded(MonotonicTime now, const scheduler::Rates& rates, const scheduler::Load& others) {
  std::vector<std::optional<absl::Status>> ends;
  for (const std::unique_ptr<Job>& job : jobs_) ends.push_back(EndOf(*job, now, rates, others));
  size_t next = 0;
  std::erase_if(jobs_, [&](const std::unique_ptr<Job>& job) {
    const std::optional<absl::Status>& end = ends[next++];
    if (end) job->request.done(*end);
    return end.has_value();
  });
}

std::optional<absl::Status> Embedder::EndOf(const Job& job, MonotonicTime now, const scheduler::Rates& rates,
                                            const scheduler::Load& others) {
  const EmbeddingRequest& request = job.request;
  if (request.cancelled != nullptr && *request.cancelled) return Cancelled("the request was cancelled");
  if (request.deadline && *request.deadline <= now) {
    return DeadlineExceeded("the deadline passed before the last input");
  }
  if (job.begun) return std::nullopt;
  const scheduler::Arrival arrival{.tokens = job.tokens_left,
                                   .sequences = 0,
                                   .priority = request.priority,
                                   .embeds = true,
                                   .now = job.arrival,
                                   .deadline = request.deadline};
  auto rejection = scheduler::CheckWaiting(limits_, arrival, now, rates);
  if (!rejection) return std::nullopt;
  ++rejections_[ReasonName(rejection->reason)];
  scheduler::Load load = others;
  AddTo(load, now, &job);
  rejection->expected_wait_seconds = scheduler::ExpectedWaitSeconds(limits_, load, arrival, rates);
  return RefusalStatus(*rejection);
}

void Embedder::AddTo(scheduler::Load& load, MonotonicTime now, const Job* but) const {
  int64_t requests = 0, not_begun = 0;
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job.get() == but) continue;
    ++requests;
    not_begun += job->begun ? 0 : 1;
    scheduler::ClassLoad& its_class = load.classes[static_cast<size_t>(job->TurnPriority(now))];
    its_class.waiting_requests += job->begun ? 0 : 1;
    its_class.waiting_choices += job->begun ? 0 : 1;
    load.embedding_tokens += job->tokens_left;
    load.embeddings[static_cast<size_t>(job->TurnPriority(now))].Add(job->tokens_left);
  }
  load.embedding_requests += requests;
  // All begin soon, however many there are: those beyond what a pass can hold count as waiting, so that they are
  // bounded.
  const int64_t waiting = std::max(not_begun, requests - static_cast<int64_t>(kMostSequences));
  load.waiting_requests += waiting;
  load.waiting_choices += waiting;
}

scheduler::Load Embedder::LoadBeside(scheduler::Load others, MonotonicTime now) const {
  AddTo(others, now, nullptr);
  return others;
}

void Embedder::CancelAll(const absl::Status& status) {
  for (const std::unique_ptr<Job>& job : std::exchange(jobs_, {})) job->request.done(status);
}

}  // namespace inferd::engine
