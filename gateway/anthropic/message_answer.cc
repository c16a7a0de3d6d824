#include "gateway/anthropic/message_answer.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "config/base/json_string.h"
#include "config/base/status.h"
#include "gateway/api/field_names.h"
#include "gateway/json/partial_json.h"
#include "gateway/json/valid_text.h"
#include "gateway/serving/errors.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

void AppendEvent(std::string_view type, json::object event, std::string& stream) {
  json::object named{{"type", json::string_view(type.data(), type.size())}};
  for (auto& field : event) named[field.key()] = std::move(field.value());
  stream.append("event: ").append(type).append("\ndata: ").append(json::serialize(named)).append("\n\n");
}

// There is one for each token: written without a tree of values in between.
void AppendDelta(size_t index, std::string_view type, std::string_view field, std::string_view text,
                 std::string& stream) {
  fmt::format_to(std::back_inserter(stream),
                 "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{},\"delta\":"
                 "{{\"type\":\"{}\",\"{}\":",
                 index, type, field);
  AppendJsonString(text, stream);
  stream.append("}}\n\n");
}

}  // namespace

MessageAnswer::MessageAnswer(Options options) : options_(std::move(options)) {}

absl::Status MessageAnswer::Add(uint32_t, const v1::GenerateEvent& event, std::string* stream) {
  if (event.has_accepted()) {
    const v1::Accepted& accepted = event.accepted();
    fingerprint_ = accepted.fingerprint();
    prompt_tokens_ = accepted.prompt_tokens();
    if (!accepted.model().empty()) options_.model = accepted.model();
    for (const v1::Warning& warning : accepted.warnings()) {
      options_.warnings.push_back(ShownWarning(warning, NameOf(warning.field())));
    }
    if (stream != nullptr) AppendEvent("message_start", {{"message", Message()}}, *stream);
  } else if (event.has_delta()) {
    AddDelta(event.delta(), stream);
  } else if (event.has_finished()) {
    RETURN_IF_ERROR(ErrorOf(event.finished()));
    finished_ = event.finished();
  }
  return absl::OkStatus();
}

void MessageAnswer::AddDelta(const v1::Delta& delta, std::string* stream) {
  const bool calls = delta.kind() == v1::Delta::KIND_TOOL_CALL;
  if (delta.kind() == v1::Delta::KIND_PROMPT || (!calls && delta.text().empty())) return;
  const Kind kind = calls ? Kind::kToolUse : delta.kind() == v1::Delta::KIND_REASONING ? Kind::kThinking : Kind::kText;
  Block& block = BlockOf(kind, delta.tool_call(), stream);
  const std::string& text = calls ? delta.tool_call().arguments() : delta.text();
  if (kind == Kind::kThinking && options_.omits_thinking) return;
  block.text.append(text);
  if (stream == nullptr || text.empty()) return;
  const size_t index = blocks_.size() - 1;
  switch (kind) {
    case Kind::kText:
      return AppendDelta(index, "text_delta", "text", text, *stream);
    case Kind::kThinking:
      return AppendDelta(index, "thinking_delta", "thinking", text, *stream);
    case Kind::kToolUse:
      return AppendDelta(index, "input_json_delta", "partial_json", text, *stream);
  }
}

MessageAnswer::Block& MessageAnswer::BlockOf(Kind kind, const v1::ToolCallDelta& call, std::string* stream) {
  const bool goes_on =
      open_ && blocks_.back().kind == kind && (kind != Kind::kToolUse || blocks_.back().call == call.index());
  if (goes_on) return blocks_.back();
  if (open_ && stream != nullptr) EndBlock(*stream);
  Block& block = blocks_.emplace_back();
  block.kind = kind;
  block.id = call.id();
  block.name = call.name();
  block.call = call.index();
  open_ = true;
  if (stream != nullptr) {
    json::object start = BlockJson(block);
    if (kind == Kind::kThinking) start["signature"] = "";
    AppendEvent("content_block_start", {{"index", blocks_.size() - 1}, {"content_block", std::move(start)}}, *stream);
  }
  return block;
}

void MessageAnswer::EndBlock(std::string& stream) {
  const size_t index = blocks_.size() - 1;
  if (blocks_.back().kind == Kind::kThinking) {
    AppendDelta(index, "signature_delta", "signature", fingerprint_, stream);
  }
  AppendEvent("content_block_stop", {{"index", index}}, stream);
  open_ = false;
}

json::object MessageAnswer::BlockJson(const Block& block) const {
  switch (block.kind) {
    case Kind::kText:
      return {{"type", "text"}, {"text", block.text}};
    case Kind::kThinking:
      return {{"type", "thinking"}, {"thinking", block.text}, {"signature", fingerprint_}};
    case Kind::kToolUse:
      return {{"type", "tool_use"}, {"id", block.id}, {"name", block.name}, {"input", ParsePartialObject(block.text)}};
  }
  return {};
}

json::object MessageAnswer::UsageJson() const {
  const uint32_t prompt = finished_ ? finished_->usage().prompt_tokens() : prompt_tokens_;
  const uint32_t cached = finished_ ? finished_->usage().cached_prompt_tokens() : 0;
  return {{"input_tokens", prompt - std::min(prompt, cached)},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached},
          {"output_tokens", finished_ ? finished_->usage().completion_tokens() : 0}};
}

std::string_view MessageAnswer::StopReason() const {
  switch (finished_->reason()) {
    case v1::Finished::REASON_TOOL_CALLS:
      return "tool_use";
    case v1::Finished::REASON_LENGTH:
      return finished_->usage().completion_tokens() < options_.max_tokens ? "model_context_window_exceeded"
                                                                          : "max_tokens";
    default:
      return finished_->stop_text().empty() ? "end_turn" : "stop_sequence";
  }
}

json::object MessageAnswer::Message() const {
  json::object message{{"id", options_.id},        {"type", "message"},        {"role", "assistant"},
                       {"model", options_.model},  {"content", json::array()}, {"stop_reason", nullptr},
                       {"stop_sequence", nullptr}, {"stop_details", nullptr}};
  if (finished_) {
    const std::string_view reason = StopReason();
    message["stop_reason"] = json::string_view(reason.data(), reason.size());
    if (reason == "stop_sequence") message["stop_sequence"] = finished_->stop_text();
  }
  message["usage"] = UsageJson();
  if (!options_.warnings.empty()) message["warnings"] = json::value_from(options_.warnings);
  return message;
}

void MessageAnswer::AppendEnd(std::string& stream) {
  if (open_) EndBlock(stream);
  const json::object message = Message();
  json::object delta{{"stop_reason", message.at("stop_reason")},
                     {"stop_sequence", message.at("stop_sequence")},
                     {"stop_details", nullptr}};
  AppendEvent("message_delta", {{"delta", std::move(delta)}, {"usage", message.at("usage")}}, stream);
  AppendEvent("message_stop", {}, stream);
}

std::string MessageAnswer::Body() {
  json::object message = Message();
  json::array content;
  for (const Block& block : blocks_) content.push_back(BlockJson(block));
  message["content"] = std::move(content);
  return json::serialize(message);
}

std::string MessageAnswer::NameOf(std::string_view field) const { return options_.names.NameOf(field); }

}  // namespace inferd::gateway
