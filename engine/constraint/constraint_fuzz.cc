// A byte for the kind of constraint, its source up to a byte 0xFF, then text. Whatever is taken as a constraint becomes
// a program or an error; and the mask of a vocabulary of all bytes and some longer tokens says at each place of the
// text what the bytes say one by one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "engine/constraint/answer_constraint.h"

namespace inferd::constraint {
namespace {

constexpr size_t kMostSteps = 16;
constexpr std::string_view kLonger[] = {"ab",   "\": ", "\",",      "{\"",  "}}",     "12",
                                        "\n  ", "aaaa", "\xC3\xA4", "null", "<think>"};
constexpr int32_t kVocabulary = 256 + static_cast<int32_t>(std::size(kLonger));

std::string TextOf(int32_t token, bool) {
  return token < 256 ? std::string(1, static_cast<char>(token)) : std::string(kLonger[token - 256]);
}

void CheckMasks(const Constraint& constraint, std::string_view text) {
  Matcher matcher(constraint);
  for (size_t i = 0; i < std::min(text.size(), kMostSteps); ++i) {
    const absl::StatusOr<Matcher::Allowed> allowed = matcher.Next();
    if (!allowed.ok()) return;
    for (int32_t token = 0; token < kVocabulary; ++token) {
      const bool possible = matcher.CountAllowed({&token, 1}) == 1;
      if (constraint.masks->machine().exhausted()) return;
      if (allowed->tokens->Has(token) != possible) std::abort();
    }
    const auto next = static_cast<unsigned char>(text[i]);
    if (matcher.Accept(next % 4 == 3 ? 256 + next % static_cast<int32_t>(std::size(kLonger)) : next).ok()) continue;
    if (!matcher.Accept(next).ok()) return;
  }
}

}  // namespace
}  // namespace inferd::constraint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferd::constraint;
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = std::min(input.find('\xFF'), input.size());
  static const auto texts = std::make_shared<const inferd::sampling::TokenTexts>(kVocabulary, TextOf);
  constexpr OutputKind kKinds[] = {OutputKind::kJsonSchema, OutputKind::kRegex, OutputKind::kGrammar,
                                   OutputKind::kJsonObject};
  OutputWish wish{.kind = kKinds[data[0] % 4], .text = std::string(input.substr(0, end))};
  if ((data[0] & 8) != 0) wish.format = inferd::output::RecognizeFormat("<think></think><tool_call>");
  if ((data[0] & 16) != 0) wish.calls = CallDemand{.tools_json = wish.text};
  ConstraintCache cache(texts, {});
  const absl::StatusOr<Constraint> constraint = cache.Get(SourceOf(wish));
  if (constraint.ok()) CheckMasks(*constraint, input.substr(std::min(end + 1, input.size())));
  return 0;
}
