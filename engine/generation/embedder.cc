// Step: drop what has ended, plan a pass, run it, answer the requests that are complete.
#include "engine/generation/embedder.h"

#include <algorithm>
#include <utility>

#include "config/base/status.h"
#include "engine/generation/refusal.h"

namespace inferd::engine {

absl::Status Validate(const EmbeddingRequest& request, int32_t vocabulary_size, int64_t most_tokens) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const std::vector<int32_t>& tokens = request.inputs[i];
    if (tokens.empty()) return InvalidArgument("inputs[{}]: it has no tokens, expected at least 1", i);
    if (static_cast<int64_t>(tokens.size()) > most_tokens) {
      return OutOfRange("inputs[{}]: this model's maximum context length is {} tokens, but the input has {} tokens", i,
                        most_tokens, tokens.size());
    }
    for (int32_t token : tokens) {
      if (token >= 0 && token < vocabulary_size) continue;
      return InvalidArgument("inputs[{}]: id {} is not in the vocabulary of {} tokens", i, token, vocabulary_size);
    }
  }
  return absl::OkStatus();
}

void Embedder::Submit(EmbeddingRequest request, MonotonicTime arrival) {
  auto job = std::make_unique<Job>();
  job->arrival = arrival;
  for (const std::vector<int32_t>& input : request.inputs) job->tokens_left += static_cast<int64_t>(input.size());
  job->inputs.resize(request.inputs.size());
  job->vectors.resize(request.inputs.size());
  job->request = std::move(request);
  jobs_.push_back(std::move(job));
}

int64_t Embedder::Step(MonotonicTime now, const scheduler::Rates& rates, int64_t most_tokens) {
  DropEnded(now, rates);
  const std::vector<Part> parts = PlanPass(most_tokens);
  int64_t tokens = 0;
  for (const Part& part : parts) {
    if (!std::exchange(part.job->begun, true) && part.job->request.begun) part.job->request.begun();
    tokens += part.tokens;
  }
  if (parts.empty()) {
    ReleaseAfter(1);
  } else {
    if (const absl::Status status = RunPass(parts); !status.ok()) CancelAll(Annotate(status, "forward pass"));
  }
  while (!jobs_.empty() && jobs_.front()->first_open == jobs_.front()->inputs.size()) {
    const std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    job->request.done(std::move(job->vectors));
  }
  return tokens;
}

void Embedder::DropEnded(MonotonicTime now, const scheduler::Rates& rates) {
  const double wait = static_cast<double>(load().tokens) * rates.prefill_seconds_per_token();
  std::erase_if(jobs_, [&](const std::unique_ptr<Job>& job) {
    const std::optional<absl::Status> end = EndOf(*job, now, rates, wait);
    if (end) job->request.done(*end);
    return end.has_value();
  });
}

std::optional<absl::Status> Embedder::EndOf(const Job& job, MonotonicTime now, const scheduler::Rates& rates,
                                            double expected_wait) {
  const EmbeddingRequest& request = job.request;
  if (request.cancelled != nullptr && *request.cancelled) return Cancelled("the request was cancelled");
  if (request.deadline && *request.deadline <= now) {
    return DeadlineExceeded("the deadline passed before the last input");
  }
  if (job.begun) return std::nullopt;
  auto rejection = scheduler::CheckWaiting(
      limits_, {.tokens = job.tokens_left, .embeds = true, .now = job.arrival, .deadline = request.deadline}, now,
      rates);
  if (!rejection) return std::nullopt;
  ++rejections_[ReasonName(rejection->reason)];
  rejection->expected_wait_seconds = expected_wait;
  return RefusalStatus(*rejection);
}

EmbeddingLoad Embedder::load() const {
  EmbeddingLoad load;
  for (const std::unique_ptr<Job>& job : jobs_) {
    ++load.requests;
    load.waiting_requests += job->begun ? 0 : 1;
    load.tokens += job->tokens_left;
  }
  return load;
}

// Inputs that were begun may hold the pages that the first ones, or others, wait for; they begin again later.
bool Embedder::ReleaseAfter(size_t kept) {
  bool released = false;
  for (const std::unique_ptr<Job>& job : jobs_) {
    for (Input& input : std::span(job->inputs).subspan(job->first_open)) {
      if (input.complete) continue;
      if (kept > 0) {
        --kept;
        continue;
      }
      if (input.sequence == nullptr) continue;
      released = true;
      job->tokens_left += input.sequence->length();
      input = {};
    }
  }
  return released;
}

void Embedder::CancelAll(const absl::Status& status) {
  for (const std::unique_ptr<Job>& job : std::exchange(jobs_, {})) job->request.done(status);
}

std::vector<Embedder::Part> Embedder::PlanPass(int64_t most_tokens) {
  int64_t tokens_left = std::min(most_tokens, device_.options().max_batch_tokens);
  int64_t rows_left = device_.options().max_result_rows;
  std::vector<Part> parts;
  for (const std::unique_ptr<Job>& job : jobs_) {
    for (size_t i = job->first_open; i < job->inputs.size(); ++i) {
      if (parts.size() == kMostSequences) return parts;
      const std::optional<Part> part = PlanInput(*job, i, tokens_left, rows_left);
      if (!part) return parts;  // in order: what does not fit now begins the next pass
      tokens_left -= part->tokens;
      rows_left -= PoolsLastToken() ? 1 : part->tokens;
      parts.push_back(*part);
    }
  }
  return parts;
}

std::optional<Embedder::Part> Embedder::PlanInput(Job& job, size_t index, int64_t tokens_left, int64_t rows_left) {
  Input& input = job.inputs[index];
  const int64_t done = input.sequence != nullptr ? input.sequence->length() : 0;
  const int64_t left = static_cast<int64_t>(job.request.inputs[index].size()) - done;
  const int64_t room = std::min(tokens_left, PoolsLastToken() && rows_left > 0 ? tokens_left : rows_left);
  const int64_t tokens = std::min(left, room);
  if (tokens <= 0 || (device_.model().spec().encoder && tokens < left)) return std::nullopt;
  if (input.sequence == nullptr) {
    absl::StatusOr<std::unique_ptr<cache::Sequence>> sequence = device_.cache().NewSequence({});
    if (!sequence.ok()) return std::nullopt;
    input.sequence = *std::move(sequence);
  }
  if (!device_.cache().Reserve(*input.sequence, tokens).ok()) return std::nullopt;
  return Part{.job = &job, .input = index, .tokens = tokens};
}

model::Pooling Embedder::PooledBy() const {
  const model::DecoderSpec& spec = device_.model().spec();
  return spec.pooling == model::Pooling::kRank ? spec.rank.of : spec.pooling;
}

bool Embedder::PoolsLastToken() const {
  return PooledBy() == model::Pooling::kNone || PooledBy() == model::Pooling::kLast;
}

absl::Status Embedder::RunPass(const std::vector<Part>& parts) {
  std::vector<model::SequenceStep> steps;
  for (const Part& part : parts) {
    const Input& input = part.job->inputs[part.input];
    const std::span<const int32_t> tokens(part.job->request.inputs[part.input]);
    steps.push_back(
        {.sequence = input.sequence.get(),
         .tokens = tokens.subspan(static_cast<size_t>(input.sequence->length()), static_cast<size_t>(part.tokens)),
         .wanted = PoolsLastToken() ? model::Rows::kLast : model::Rows::kAll});
  }
  ASSIGN_OR_RETURN(model::ForwardResult result, model::ForwardHidden(device_, steps));
  // The rows are the device's until the next pass, and pooling may use the device: take them all first.
  int64_t row = 0;
  for (const Part& part : parts) {
    const int64_t rows = PoolsLastToken() ? 1 : part.tokens;
    part.job->tokens_left -= part.tokens;
    for (const int64_t end = row + rows; row < end; ++row) TakeRow(part, result.Row(row));
  }
  for (const Part& part : parts) RETURN_IF_ERROR(FinishInput(part));
  return absl::OkStatus();
}

// One row is kept of each input, however long it is.
void Embedder::TakeRow(const Part& part, std::span<const float> row) {
  std::vector<float>& hidden = part.job->inputs[part.input].hidden;
  if (PooledBy() == model::Pooling::kMean) {
    hidden.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) hidden[i] += row[i];  // ascending, as model::Pool does it
  } else if (PoolsLastToken() || hidden.empty()) {
    hidden.assign(row.begin(), row.end());
  }
}

absl::Status Embedder::FinishInput(const Part& part) {
  Job& job = *part.job;
  Input& input = job.inputs[part.input];
  const size_t tokens = job.request.inputs[part.input].size();
  if (input.sequence->length() < static_cast<int64_t>(tokens)) return absl::OkStatus();
  if (PooledBy() == model::Pooling::kMean) {
    for (float& value : input.hidden) value /= static_cast<float>(tokens);
  }
  std::vector<float>& vector = job.vectors[part.input];
  vector.resize(static_cast<size_t>(model::PooledSize(device_.model().spec())));
  RETURN_IF_ERROR(model::Pool(device_, input.hidden, 1, vector));
  input = {.complete = true};
  while (job.first_open < job.inputs.size() && job.inputs[job.first_open].complete) ++job.first_open;
  return absl::OkStatus();
}

}  // namespace inferd::engine
