#include "gateway/openai/text_answer.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <iterator>

#include "config/base/json_string.h"

namespace inferd::gateway {

namespace json = boost::json;

TextAnswer::TextAnswer(AnswerOptions options, Extras extras)
    : Answer(std::move(options)), extras_(std::move(extras)), choices_(options_.prompts * options_.choices) {}

std::string_view TextAnswer::ObjectName(bool) const { return "text_completion"; }

void TextAnswer::OnStart(uint32_t choice, std::string* sse) {
  if (extras_.echo.empty()) return;
  const std::string& echo = extras_.echo[choice / options_.choices];
  if (sse == nullptr) {
    choices_[choice].text = echo;
  } else if (!echo.empty()) {
    AppendText(choice, echo, nullptr, "", *sse);
  }
}

void TextAnswer::OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) {
  if (delta.kind() == v1::Delta::KIND_PROMPT) {
    // Reported once, for all choices of the prompt.
    uint32_t first = choice - choice % options_.choices;
    for (uint32_t i = 0; i < options_.choices; ++i) AddPromptLogprobs(first + i, delta, sse);
    return;
  }
  if (sse != nullptr) {
    bool reports = (extras_.with_logprobs && delta.logprobs_size() > 0) || options_.return_token_ids;
    if (!delta.text().empty() || reports) AppendText(choice, delta.text(), &delta, "", *sse);
    return;
  }
  Choice& into = choices_[choice];
  into.text.append(delta.text());
  if (extras_.with_logprobs) {
    for (const v1::TokenLogprob& logprob : delta.logprobs()) into.logprobs.Add(logprob, into.offset);
  }
  if (options_.return_token_ids) {
    for (int32_t id : delta.token_ids()) into.token_ids.push_back(id);
  }
}

void TextAnswer::AddPromptLogprobs(uint32_t choice, const v1::Delta& delta, std::string* sse) {
  if (!extras_.with_logprobs) return;
  if (sse != nullptr) return AppendText(choice, "", &delta, "", *sse);
  for (const v1::TokenLogprob& logprob : delta.logprobs()) {
    choices_[choice].logprobs.Add(logprob, choices_[choice].offset);
  }
}

void TextAnswer::OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) {
  choices_[choice].finish_reason = FinishReason(finished.reason());
  if (sse != nullptr) AppendText(choice, "", nullptr, choices_[choice].finish_reason, *sse);
}

void TextAnswer::AppendText(uint32_t choice, std::string_view text, const v1::Delta* delta,
                            std::string_view finish_reason, std::string& sse) {
  scratch_ = "{\"text\":";
  AppendJsonString(text, scratch_);
  fmt::format_to(std::back_inserter(scratch_), ",\"index\":{},\"logprobs\":", choice);
  if (extras_.with_logprobs && delta != nullptr && delta->logprobs_size() > 0) {
    TextLogprobs logprobs;
    for (const v1::TokenLogprob& logprob : delta->logprobs()) logprobs.Add(logprob, choices_[choice].offset);
    scratch_.append(json::serialize(logprobs.Json()));
  } else {
    scratch_.append("null");
  }
  if (options_.return_token_ids && delta != nullptr) {
    scratch_.append(fmt::format(",\"token_ids\":[{}]", fmt::join(delta->token_ids(), ",")));
  }
  scratch_.append(",\"finish_reason\":");
  scratch_.append(finish_reason.empty() ? "null" : fmt::format("\"{}\"", finish_reason));
  scratch_.push_back('}');
  AppendChunk(scratch_, sse);
}

json::object TextAnswer::ChoiceJson(uint32_t index) {
  Choice& choice = choices_[index];
  json::object object;
  object["text"] = choice.text;
  object["index"] = index;
  object["logprobs"] = extras_.with_logprobs ? json::value(choice.logprobs.Json()) : json::value(nullptr);
  if (options_.return_token_ids) object["token_ids"] = std::move(choice.token_ids);
  object["finish_reason"] = json::string_view(choice.finish_reason.data(), choice.finish_reason.size());
  return object;
}

}  // namespace inferd::gateway
