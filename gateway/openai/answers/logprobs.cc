#include "gateway/openai/answers/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/base/json_string.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/answers/choices_answer.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

json::value LogprobValue(const v1::TokenLogprob& logprob) {
  if (!logprob.has_logprob()) return nullptr;
  return FiniteLogprob(logprob.logprob());
}

json::object TokenJson(const v1::TokenLogprob& logprob) {
  json::object object;
  object["token"] = ValidText(logprob.token());
  json::array bytes;
  for (char c : logprob.token()) bytes.push_back(static_cast<unsigned char>(c));
  object["bytes"] = std::move(bytes);
  object["logprob"] = LogprobValue(logprob);
  return object;
}

// A token's text; what is not UTF-8 as OpenAI writes it, "bytes:\xf0\x9f", so that no two share a key.
std::string KeyOf(std::string_view token) {
  for (std::string_view rest = token; !rest.empty(); rest.remove_prefix(Utf8CharacterLength(rest))) {
    if (Utf8CharacterLength(rest) > 0) continue;
    std::string key = "bytes:";
    for (unsigned char byte : token) key += fmt::format("\\x{:02x}", byte);
    return key;
  }
  return std::string(token);
}

void AppendAll(const json::array& from, json::array& to) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t EchoPlaces::Next(std::string_view token) {
  const size_t place = characters_;
  const std::string_view rest = echo_.substr(bytes_);
  // A tokenizer may put a space before the text.
  if (place == 0 && token.starts_with(' ') && !rest.starts_with(token)) token.remove_prefix(1);
  if (!rest.starts_with(token)) return place;
  bytes_ += token.size();
  for (; next_character_ < bytes_; ++characters_) {
    next_character_ += std::max<size_t>(1, Utf8CharacterLength(echo_.substr(next_character_)));
  }
  return place;
}

json::object ChatLogprob(const v1::TokenLogprob& logprob) {
  json::object object = TokenJson(logprob);
  json::array top;
  for (const v1::TokenLogprob& alternative : logprob.top()) top.push_back(TokenJson(alternative));
  object["top_logprobs"] = std::move(top);
  return object;
}

void TextLogprobs::Add(const v1::TokenLogprob& logprob, size_t offset) {
  tokens_.push_back(json::value(KeyOf(logprob.token())));
  token_logprobs_.push_back(LogprobValue(logprob));
  json::object top;
  for (const v1::TokenLogprob& alternative : logprob.top()) {
    top[KeyOf(alternative.token())] = LogprobValue(alternative);
  }
  top_logprobs_.push_back(logprob.has_logprob() ? json::value(std::move(top)) : json::value(nullptr));
  text_offset_.push_back(offset);
}

void TextLogprobs::Append(const TextLogprobs& other) {
  AppendAll(other.tokens_, tokens_);
  AppendAll(other.token_logprobs_, token_logprobs_);
  AppendAll(other.top_logprobs_, top_logprobs_);
  AppendAll(other.text_offset_, text_offset_);
}

json::object TextLogprobs::Json() const {
  json::object object;
  object["tokens"] = tokens_;
  object["token_logprobs"] = token_logprobs_;
  object["top_logprobs"] = top_logprobs_;
  object["text_offset"] = text_offset_;
  return object;
}

}  // namespace inferd::gateway
