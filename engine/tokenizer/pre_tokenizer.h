// Cuts text into the words within which a byte-pair tokenizer merges.
//
//   ASSIGN_OR_RETURN(PreTokenizer words, PreTokenizer::Create(family->rules));
//   std::vector<uint32_t> ends;
//   RETURN_IF_ERROR(words.Split("Hello there", ends));   // {5, 11}
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/split_rules.h"

namespace inferd::tokenizer {

class PreTokenizer {
 public:
  // `use_scanners` false: the patterns alone wherever there is one (for tests).
  static absl::StatusOr<PreTokenizer> Create(std::span<const SplitRule> rules, bool use_scanners = true);

  // Sets `ends` to where the pieces of `text` end, in bytes, ascending; the last is the end of the text.
  // RESOURCE_EXHAUSTED for 4 GiB or more, or where a pattern needs too many steps.
  absl::Status Split(std::string_view text, std::vector<uint32_t>& ends) const;

 private:
  struct Step {
    Scanner scanner;  // nullptr: use the pattern
    std::optional<Pattern> pattern;

    absl::Status Split(std::string_view text, uint32_t begin, uint32_t end, std::vector<uint32_t>& ends) const;
  };
  std::vector<Step> steps_;
};

}  // namespace inferd::tokenizer
