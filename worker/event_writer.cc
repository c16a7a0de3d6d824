// Deltas that nobody has read yet are joined: a slow reader gets fewer and longer ones.
#include "worker/event_writer.h"

#include <iterator>
#include <utility>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::worker {
namespace {

constexpr size_t kMostJoinedBytes = 16 << 10;

v1::Delta::Kind KindOf(output::PartKind kind) {
  switch (kind) {
    case output::PartKind::kContent:
      return v1::Delta::KIND_CONTENT;
    case output::PartKind::kReasoning:
      return v1::Delta::KIND_REASONING;
    case output::PartKind::kToolCall:
      return v1::Delta::KIND_TOOL_CALL;
  }
  return v1::Delta::KIND_UNSPECIFIED;
}

v1::Finished::Reason ReasonOf(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return v1::Finished::REASON_STOP;
    case engine::FinishReason::kLength:
      return v1::Finished::REASON_LENGTH;
    case engine::FinishReason::kToolCalls:
      return v1::Finished::REASON_TOOL_CALLS;
    case engine::FinishReason::kError:
      return v1::Finished::REASON_ERROR;
  }
  return v1::Finished::REASON_UNSPECIFIED;
}

bool CanJoin(const std::deque<v1::GenerateEvent>& outgoing, uint32_t choice, v1::Delta::Kind kind) {
  if (outgoing.empty() || !outgoing.back().has_delta()) return false;
  const v1::Delta& last = outgoing.back().delta();
  return last.choice() == choice && last.kind() == kind && kind != v1::Delta::KIND_TOOL_CALL &&
         last.text().size() < kMostJoinedBytes && last.logprobs_size() == 0;
}

// More arguments of the call whose delta waits.
bool CanJoinCall(const std::deque<v1::GenerateEvent>& outgoing, uint32_t choice, const output::OutputPart& part) {
  if (part.kind != output::PartKind::kToolCall || !part.tool_call.id.empty() || !part.tool_call.name.empty())
    return false;
  if (outgoing.empty() || !outgoing.back().has_delta()) return false;
  const v1::Delta& last = outgoing.back().delta();
  return last.choice() == choice && last.kind() == v1::Delta::KIND_TOOL_CALL && last.has_tool_call() &&
         last.tool_call().index() == part.tool_call.index && last.tool_call().arguments().size() < kMostJoinedBytes &&
         last.logprobs_size() == 0;
}

v1::Delta& DeltaFor(std::deque<v1::GenerateEvent>& outgoing, uint32_t choice, v1::Delta::Kind kind) {
  if (!CanJoin(outgoing, choice, kind)) {
    v1::Delta& added = *outgoing.emplace_back().mutable_delta();
    added.set_choice(choice);
    added.set_kind(kind);
  }
  return *outgoing.back().mutable_delta();
}

void AppendPart(output::OutputPart part, v1::Delta& wire) {
  wire.mutable_text()->append(part.text);
  if (part.kind != output::PartKind::kToolCall) return;
  v1::ToolCallDelta& call = *wire.mutable_tool_call();
  call.set_index(part.tool_call.index);
  if (!part.tool_call.id.empty()) call.set_id(std::move(part.tool_call.id));
  if (!part.tool_call.name.empty()) call.set_name(std::move(part.tool_call.name));
  call.mutable_arguments()->append(part.tool_call.arguments);
}

}  // namespace

void EventWriter::Append(engine::Event event, std::deque<v1::GenerateEvent>& outgoing) const {
  if (auto* accepted = std::get_if<engine::Accepted>(&event)) return AppendAccepted(*accepted, outgoing);
  if (auto* delta = std::get_if<engine::Delta>(&event)) return AppendDelta(std::move(*delta), outgoing);
  AppendFinished(std::get<engine::Finished>(std::move(event)), outgoing);
}

void EventWriter::AppendAccepted(const engine::Accepted& accepted, std::deque<v1::GenerateEvent>& outgoing) const {
  v1::Accepted& wire = *outgoing.emplace_back().mutable_accepted();
  wire.set_prompt_tokens(accepted.prompt_tokens);
  wire.set_seed(accepted.seed);
  wire.set_fingerprint(model_.fingerprint());
  wire.set_model(model_.options.name);
  wire.set_model_version(model_.version);
}

// The tokens go with the first part; a token whose text is still held back makes a delta without text.
void EventWriter::AppendDelta(engine::Delta delta, std::deque<v1::GenerateEvent>& outgoing) const {
  if (delta.first_prompt_token) {
    v1::Delta& wire = DeltaFor(outgoing, delta.choice, v1::Delta::KIND_PROMPT);
    WriteToken(*delta.first_prompt_token, *wire.add_logprobs());
    for (const auto& entry : delta.prompt_logprobs) WriteLogprob(entry, *wire.add_logprobs());
  }
  if (delta.tokens.empty() && delta.parts.empty()) return;
  const v1::Delta::Kind first = delta.parts.empty() ? v1::Delta::KIND_CONTENT : KindOf(delta.parts.front().kind);
  const bool joins = !delta.parts.empty() && CanJoinCall(outgoing, delta.choice, delta.parts.front());
  v1::Delta& wire = joins ? *outgoing.back().mutable_delta() : DeltaFor(outgoing, delta.choice, first);
  wire.mutable_token_ids()->Add(delta.tokens.begin(), delta.tokens.end());
  for (const auto& entry : delta.logprobs) WriteLogprob(entry, *wire.add_logprobs());
  for (size_t i = 0; i < delta.parts.size(); ++i) {
    v1::Delta& target = i == 0 ? wire : DeltaFor(outgoing, delta.choice, KindOf(delta.parts[i].kind));
    AppendPart(std::move(delta.parts[i]), target);
  }
}

void EventWriter::AppendFinished(engine::Finished finished, std::deque<v1::GenerateEvent>& outgoing) const {
  v1::Finished& wire = *outgoing.emplace_back().mutable_finished();
  wire.set_choice(finished.choice);
  wire.set_reason(ReasonOf(finished.reason));
  wire.set_stop_text(std::move(finished.stop_text));
  if (!finished.error.ok()) {
    wire.set_error_code(static_cast<uint32_t>(finished.error.code()));
    wire.set_error(std::string(TextOf(finished.error)));
    wire.set_error_field(FieldOf(finished.error));
  }
  wire.mutable_usage()->set_prompt_tokens(finished.usage.prompt_tokens);
  wire.mutable_usage()->set_completion_tokens(finished.usage.completion_tokens);
  wire.mutable_usage()->set_cached_prompt_tokens(finished.usage.cached_prompt_tokens);
  wire.mutable_usage()->set_dropped_tokens(finished.usage.dropped_tokens);
  wire.mutable_timings()->set_queue_seconds(finished.timings.queue_seconds);
  wire.mutable_timings()->set_prefill_seconds(finished.timings.prefill_seconds);
  wire.mutable_timings()->set_decode_seconds(finished.timings.decode_seconds);
  wire.mutable_timings()->set_first_token_seconds(finished.timings.first_token_seconds);
}

void EventWriter::WriteLogprob(const sampling::TokenLogprob& entry, v1::TokenLogprob& wire) const {
  WriteToken(entry.token, wire);
  wire.set_logprob(entry.logprob);
  for (const sampling::Alternative& alternative : entry.top) {
    v1::TokenLogprob& top = *wire.add_top();
    WriteToken(alternative.token, top);
    top.set_logprob(alternative.logprob);
  }
}

void EventWriter::WriteToken(int32_t token, v1::TokenLogprob& wire) const {
  wire.set_token_id(token);
  wire.set_token(model_.tokenizer->TokenBytes(token, /*with_special=*/true));
}

}  // namespace inferd::worker
