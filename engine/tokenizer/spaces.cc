#include "engine/tokenizer/spaces.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::tokenizer {
namespace {

std::string WithoutExtraSpaces(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char character : text) {
    if (character == ' ' && (result.empty() || result.back() == ' ')) continue;
    result.push_back(character);
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

}  // namespace

std::string SpelledSpaces(std::string_view text, SpaceOptions options) {
  const std::string cleaned = options.remove_extra ? WithoutExtraSpaces(text) : std::string(text);
  std::string result;
  result.reserve(cleaned.size() + cleaned.size() / 2 + kSpelledSpace.size());  // English has a space in six bytes
  if (options.prefix && !cleaned.empty()) result += kSpelledSpace;
  for (size_t at = 0; at < cleaned.size(); ++at) {
    const size_t space = std::min(cleaned.find(' ', at), cleaned.size());
    result.append(cleaned, at, space - at);
    if (space < cleaned.size()) result += kSpelledSpace;
    at = space;
  }
  return result;
}

std::string PlainSpaces(std::string_view spelling) {
  std::string result;
  for (size_t at = 0; at < spelling.size();) {
    if (spelling.substr(at).starts_with(kSpelledSpace)) {
      result.push_back(' ');
      at += kSpelledSpace.size();
    } else {
      result.push_back(spelling[at++]);
    }
  }
  return result;
}

absl::Status AppendByteTokens(const Vocabulary& vocabulary, std::string_view text, std::vector<int32_t>& ids) {
  for (const char byte : text) {
    if (vocabulary.byte_token(static_cast<uint8_t>(byte)) >= 0) continue;
    if (!vocabulary.unknown().has_value()) {
      return InvalidArgument("the vocabulary has neither a token for byte <0x{:02X}> nor an unknown token",
                             static_cast<uint8_t>(byte));
    }
    ids.push_back(*vocabulary.unknown());
    return absl::OkStatus();
  }
  for (const char byte : text) ids.push_back(vocabulary.byte_token(static_cast<uint8_t>(byte)));
  return absl::OkStatus();
}

std::string BytesOfSpelledToken(const Vocabulary& vocabulary, int32_t id) {
  if (vocabulary.kind(id) == TokenKind::kByte) return std::string(1, static_cast<char>(vocabulary.byte_of(id)));
  return PlainSpaces(vocabulary.spelling(id));
}

SpelledWords::SpelledWords(const Vocabulary& vocabulary) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view spelling = vocabulary.spelling(id);
    for (size_t at = 0; (at = spelling.find(kSpelledSpace, at)) != std::string_view::npos; at += kSpelledSpace.size()) {
      const std::string_view before = spelling.substr(0, at);
      if (!before.empty() && !before.ends_with(kSpelledSpace)) joined_.set(static_cast<uint8_t>(before.back()));
    }
  }
}

size_t SpelledWords::EndOfWord(std::string_view text, size_t at) const {
  size_t end = at;
  while (text.substr(end).starts_with(kSpelledSpace)) end += kSpelledSpace.size();
  while ((end = text.find(kSpelledSpace, end)) != std::string_view::npos) {
    if (end > at && !joined_[static_cast<uint8_t>(text[end - 1])]) return end;
    end += kSpelledSpace.size();
    while (text.substr(end).starts_with(kSpelledSpace)) end += kSpelledSpace.size();
  }
  return text.size();
}

}  // namespace inferd::tokenizer
