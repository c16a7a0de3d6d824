// How each family of byte-pair tokenizers cuts text into the words within which tokens are merged: one table.
//
//   const SplitFamily* family = FindSplitFamily("qwen2");   // nullptr: unknown
//   for (const SplitRule& rule : family->rules) ...         // each cuts the pieces of the one before
//
// Source: `pre_tokenizer` of the tokenizer.json that each family publishes, under the names that converters write into
// tokenizer.ggml.pre.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/tokenizer/scanners.h"

namespace inferd::tokenizer {

// Matches of `pattern`, and what lies between them, become pieces.
struct SplitRule {
  std::string_view pattern;   // the definition; empty where only a scanner can tell
  Scanner scanner = nullptr;  // its fast equal, if there is one
};

struct SplitFamily {
  std::string_view names;  // values of tokenizer.ggml.pre, separated by spaces
  std::span<const SplitRule> rules;
  // A word that is a token becomes it even where no chain of merges leads there (`ignore_merges`).
  bool whole_words_first = false;
  // The default of tokenizer.ggml.add_bos_token.
  bool adds_bos = false;
  // Tokens are spelled in plain text with U+2581 for a space and <0xHH> for stray bytes, not in the byte alphabet.
  bool plain_text = false;
};

const SplitFamily* FindSplitFamily(std::string_view pre);

// All of them, for messages and tests.
std::span<const SplitFamily> SplitFamilies();

}  // namespace inferd::tokenizer
