#include "gateway/openai/answers/choices_answer.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <cmath>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"
#include "gateway/serving/errors.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr double kLowestLogprob = -9999.0;

json::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::string_view FinishReason(v1::Finished::Reason reason) {
  switch (reason) {
    case v1::Finished::REASON_LENGTH:
      return "length";
    case v1::Finished::REASON_TOOL_CALLS:
      return "tool_calls";
    default:
      return "stop";
  }
}

json::object UsageJson(const v1::Usage& usage) {
  json::object object;
  object["prompt_tokens"] = usage.prompt_tokens();
  object["completion_tokens"] = usage.completion_tokens();
  object["total_tokens"] = uint64_t{usage.prompt_tokens()} + usage.completion_tokens();
  if (usage.dropped_tokens() > 0) object["dropped_tokens"] = usage.dropped_tokens();
  object["prompt_tokens_details"] = json::object{{"cached_tokens", usage.cached_prompt_tokens()}};
  return object;
}

json::object TimingsJson(const v1::Timings& timings, const v1::Usage& usage) {
  json::object object;
  object["queue_seconds"] = timings.queue_seconds();
  object["prefill_seconds"] = timings.prefill_seconds();
  object["decode_seconds"] = timings.decode_seconds();
  object["first_token_seconds"] = timings.first_token_seconds();
  double seconds = timings.decode_seconds();
  object["tokens_per_second"] = seconds > 0 ? usage.completion_tokens() / seconds : 0.0;
  return object;
}

double FiniteLogprob(double logprob) { return std::isfinite(logprob) ? logprob : kLowestLogprob; }

ChoicesAnswer::ChoicesAnswer(AnswerOptions options)
    : options_(std::move(options)), model_(options_.model), warnings_(options_.warnings) {}

absl::Status ChoicesAnswer::Add(uint32_t prompt, const v1::GenerateEvent& event, std::string* sse) {
  uint32_t first = prompt * options_.choices;
  if (event.has_accepted()) {
    TakeAccepted(prompt, event.accepted());
    for (uint32_t i = 0; i < options_.choices; ++i) OnStart(first + i, sse);
    return absl::OkStatus();
  }
  uint32_t choice = event.has_delta() ? event.delta().choice() : event.finished().choice();
  if (choice >= options_.choices) return Internal("worker sent choice {} of {}", choice, options_.choices);
  if (event.has_delta()) {
    OnDelta(first + choice, event.delta(), sse);
  } else if (event.has_finished()) {
    RETURN_IF_ERROR(ErrorOf(event.finished()));
    TakeFinished(event.finished());
    OnFinished(first + choice, event.finished(), sse);
  }
  return absl::OkStatus();
}

std::string ChoicesAnswer::NameOf(std::string_view field) const {
  return ClientName(ConstraintName(field, options_.constraint_name), FieldNames());
}

void ChoicesAnswer::TakeAccepted(uint32_t prompt, const v1::Accepted& accepted) {
  fingerprint_ = accepted.fingerprint();
  if (!accepted.model().empty()) model_ = accepted.model();
  if (prompt > 0) return;  // warnings are the same for all prompts
  for (const v1::Warning& warning : accepted.warnings()) {
    warnings_.push_back(ShownWarning(warning, NameOf(warning.field())));
  }
}

void ChoicesAnswer::TakeFinished(const v1::Finished& finished) {
  const v1::Usage& usage = finished.usage();
  if (finished.choice() == 0) {
    usage_.set_prompt_tokens(usage_.prompt_tokens() + usage.prompt_tokens());
    usage_.set_cached_prompt_tokens(usage_.cached_prompt_tokens() + usage.cached_prompt_tokens());
  }
  usage_.set_completion_tokens(usage_.completion_tokens() + usage.completion_tokens());
  usage_.set_dropped_tokens(usage_.dropped_tokens() + usage.dropped_tokens());
  const v1::Timings& timings = finished.timings();
  timings_.set_queue_seconds(std::max(timings_.queue_seconds(), timings.queue_seconds()));
  timings_.set_prefill_seconds(std::max(timings_.prefill_seconds(), timings.prefill_seconds()));
  timings_.set_decode_seconds(std::max(timings_.decode_seconds(), timings.decode_seconds()));
  timings_.set_first_token_seconds(std::max(timings_.first_token_seconds(), timings.first_token_seconds()));
}

json::object ChoicesAnswer::Header(bool chunk) const {
  json::object object;
  object["id"] = Text(options_.id);
  object["object"] = Text(ObjectName(chunk));
  object["created"] = options_.created_unix_seconds;
  object["model"] = Text(model_);
  object["system_fingerprint"] = Text(fingerprint_);
  return object;
}

const std::string& ChoicesAnswer::ChunkStart() {
  if (chunk_start_.empty()) {
    chunk_start_ = "data: " + json::serialize(Header(true));
    chunk_start_.back() = ',';  // instead of the closing brace
  }
  return chunk_start_;
}

void ChoicesAnswer::AppendChunk(std::string_view choice_json, std::string& sse) {
  sse.append(ChunkStart());
  if (!warnings_.empty() && !std::exchange(warned_, true)) {
    sse.append("\"warnings\":").append(json::serialize(json::value_from(warnings_))).append(",");
  }
  if (options_.include_usage) sse.append("\"usage\":null,");
  sse.append("\"choices\":[").append(choice_json).append("]}\n\n");
}

void ChoicesAnswer::AppendEnd(std::string& sse) {
  if (options_.include_usage) {
    json::object object = Header(true);
    object["choices"] = json::array();
    object["usage"] = UsageJson(usage_);
    object["timings"] = TimingsJson(timings_, usage_);
    sse.append("data: ").append(json::serialize(object)).append("\n\n");
  }
  sse.append("data: [DONE]\n\n");
}

std::string ChoicesAnswer::Body() {
  json::object object = Header(false);
  json::array choices;
  for (uint32_t i = 0; i < options_.prompts * options_.choices; ++i) choices.push_back(ChoiceJson(i));
  object["choices"] = std::move(choices);
  object["usage"] = UsageJson(usage_);
  object["timings"] = TimingsJson(timings_, usage_);
  if (!warnings_.empty()) object["warnings"] = json::value_from(warnings_);
  return json::serialize(object);
}

}  // namespace inferd::gateway
