#include "gateway/calls/resume_record.h"

#include <algorithm>
#include <set>
#include <utility>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

constexpr uint32_t kMaxChoices = 128;

// A worker refuses more than the contract allows; no memory is spent on them before.
uint32_t ChoicesOf(const v1::GenerateRequest& request) { return std::clamp(request.choices(), 1u, kMaxChoices); }

}  // namespace

absl::Status CheckResumeTokens(const v1::GenerateRequest& request) {
  const uint32_t choices = ChoicesOf(request);
  std::set<uint32_t> seen;
  for (const v1::ResumeState& state : request.resume_tokens()) {
    if (state.choice() >= choices) {
      return InvalidField("resume_tokens", "choice {} is not below {}", state.choice(), choices);
    }
    if (!seen.insert(state.choice()).second) {
      return InvalidField("resume_tokens", "choice {} is there twice", state.choice());
    }
  }
  return absl::OkStatus();
}

ResumeRecord::ResumeRecord(v1::GenerateRequest request)
    : request_(std::move(request)), begun_(request_.resume_tokens_size() > 0 ? Begun::kByTheClient : Begun::kNot) {
  for (uint32_t i = 0; i < ChoicesOf(request_); ++i) choices_[i];
  for (const v1::ResumeState& state : request_.resume_tokens()) {
    choices_[state.choice()] = {.ids = {state.ids().begin(), state.ids().end()},
                                .delivered_bytes = state.delivered_bytes(),
                                .finished = state.finished()};
  }
}

// A random seed is the same one after a resumption, and so is the date in the prompt.
void ResumeRecord::Begin(const v1::Accepted& accepted) {
  if (std::exchange(begun_, Begun::kHere) == Begun::kHere) return;
  request_.set_seed(accepted.seed());
  request_.set_rendered_unix_seconds(accepted.rendered_unix_seconds());
}

bool ResumeRecord::Take(const v1::GenerateEvent& event) {
  if (event.has_accepted()) Begin(event.accepted());
  if (event.has_finished()) choices_[event.finished().choice()].finished = true;
  if (!event.has_delta()) return event.has_finished();
  const v1::Delta& delta = event.delta();
  if (delta.kind() == v1::Delta::KIND_PROMPT) {
    request_.set_prompt_logprobs(false);  // they are told once
    return false;
  }
  Choice& choice = choices_[delta.choice()];
  choice.ids.insert(choice.ids.end(), delta.token_ids().begin(), delta.token_ids().end());
  const v1::ToolCallDelta& call = delta.tool_call();
  choice.delivered_bytes += delta.text().size() + call.id().size() + call.name().size() + call.arguments().size();
  return true;
}

const v1::GenerateRequest& ResumeRecord::NextRequest() {
  request_.clear_resume_tokens();
  if (begun_ == Begun::kNot) return request_;
  for (const auto& [index, choice] : choices_) {
    v1::ResumeState* state = request_.add_resume_tokens();
    state->set_choice(index);
    state->mutable_ids()->Add(choice.ids.begin(), choice.ids.end());
    state->set_delivered_bytes(choice.delivered_bytes);
    state->set_finished(choice.finished);
  }
  return request_;
}

bool ResumeRecord::all_finished() const {
  return std::all_of(choices_.begin(), choices_.end(), [](const auto& entry) { return entry.second.finished; });
}

}  // namespace inferd::gateway
