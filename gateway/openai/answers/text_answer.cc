#include "gateway/openai/answers/text_answer.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <iterator>

#include "config/base/json_string.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/requests/completion_request.h"

namespace inferd::gateway {

namespace json = boost::json;

TextAnswer::TextAnswer(AnswerOptions options, Extras extras)
    : ChoicesAnswer(std::move(options)), extras_(std::move(extras)), choices_(options_.prompts * options_.choices) {
  for (uint32_t i = 0; i < choices_.size(); ++i) choices_[i].offset = CountCharacters(ValidText(EchoOf(i)));
}

std::span<const FieldName> TextAnswer::FieldNames() const { return CompletionFieldNames(); }

std::string_view TextAnswer::ObjectName(bool) const { return "text_completion"; }

std::string_view TextAnswer::EchoOf(uint32_t choice) const {
  return extras_.echo.empty() ? std::string_view() : extras_.echo[choice / options_.choices];
}

void TextAnswer::OnStart(uint32_t choice, std::string* sse) {
  const std::string echo = ValidText(EchoOf(choice));
  if (sse == nullptr) {
    choices_[choice].text = echo;
  } else if (!echo.empty()) {
    AppendPiece(choice, {.text = echo}, *sse);
  }
}

void TextAnswer::OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) {
  if (delta.kind() == v1::Delta::KIND_PROMPT) {
    // Reported once, for all choices of the prompt.
    uint32_t first = choice - choice % options_.choices;
    for (uint32_t i = 0; i < options_.choices; ++i) AddPrompt(first + i, delta, sse);
    return;
  }
  Choice& into = choices_[choice];
  TextLogprobs logprobs;
  for (const v1::TokenLogprob& logprob : delta.logprobs()) {
    if (!extras_.with_logprobs) break;
    logprobs.Add(logprob, into.offset);
    into.offset += CountCharacters(logprob.token());
  }
  if (sse != nullptr) {
    bool reports = !logprobs.empty() || options_.return_token_ids;
    if (delta.text().empty() && !reports) return;
    AppendPiece(choice, {.text = delta.text(), .logprobs = std::move(logprobs), .token_ids_of = &delta}, *sse);
    return;
  }
  into.text.append(delta.text());
  into.logprobs.Append(logprobs);
  if (options_.return_token_ids) {
    for (int32_t id : delta.token_ids()) into.token_ids.push_back(id);
  }
}

void TextAnswer::AddPrompt(uint32_t choice, const v1::Delta& delta, std::string* sse) {
  if (!extras_.with_logprobs) return;
  EchoPlaces places(EchoOf(choice));
  TextLogprobs logprobs;
  for (const v1::TokenLogprob& logprob : delta.logprobs()) logprobs.Add(logprob, places.Next(logprob.token()));
  if (sse != nullptr) {
    AppendPiece(choice, {.logprobs = std::move(logprobs)}, *sse);
  } else {
    choices_[choice].prompt_logprobs = std::move(logprobs);
  }
}

void TextAnswer::OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) {
  choices_[choice].finish_reason = FinishReason(finished.reason());
  if (sse != nullptr) AppendPiece(choice, {.finish_reason = choices_[choice].finish_reason}, *sse);
}

void TextAnswer::AppendPiece(uint32_t choice, const Piece& piece, std::string& sse) {
  scratch_ = "{\"text\":";
  AppendJsonString(piece.text, scratch_);
  fmt::format_to(std::back_inserter(scratch_), ",\"index\":{},\"logprobs\":", choice);
  scratch_.append(piece.logprobs.empty() ? "null" : json::serialize(piece.logprobs.Json()));
  if (options_.return_token_ids && piece.token_ids_of != nullptr) {
    scratch_.append(fmt::format(",\"token_ids\":[{}]", fmt::join(piece.token_ids_of->token_ids(), ",")));
  }
  scratch_.append(",\"finish_reason\":");
  scratch_.append(piece.finish_reason.empty() ? "null" : fmt::format("\"{}\"", piece.finish_reason));
  scratch_.push_back('}');
  AppendChunk(scratch_, sse);
}

json::object TextAnswer::ChoiceJson(uint32_t index) {
  Choice& choice = choices_[index];
  json::object object;
  object["text"] = choice.text;
  object["index"] = index;
  choice.prompt_logprobs.Append(choice.logprobs);
  object["logprobs"] = extras_.with_logprobs ? json::value(choice.prompt_logprobs.Json()) : json::value(nullptr);
  if (options_.return_token_ids) object["token_ids"] = std::move(choice.token_ids);
  object["finish_reason"] = json::string_view(choice.finish_reason.data(), choice.finish_reason.size());
  return object;
}

}  // namespace inferd::gateway
