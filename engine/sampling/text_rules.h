// What the options of one request that speak of texts need beside the options; its choices share it.
//
//   if (TextRules::NeededBy(options)) rules = TextRules(options, texts);
//   Sampler sampler(options, rules, ...);
#pragma once

#include <memory>

#include "engine/sampling/bad_words.h"
#include "engine/sampling/byte_automaton.h"
#include "engine/sampling/sampling_options.h"
#include "engine/sampling/token_texts.h"

namespace inferd::sampling {

struct TextRules {
  std::shared_ptr<const TokenTexts> texts;
  std::shared_ptr<const BadWords> bad_words;      // null: none
  std::shared_ptr<const ByteAutomaton> breakers;  // of DRY; null: it is off

  static bool NeededBy(const SamplingOptions& options) { return options.dry.on() || !options.bad_words.empty(); }

  TextRules() = default;
  // A few milliseconds: not for the engine's thread. `options` must be valid.
  TextRules(const SamplingOptions& options, std::shared_ptr<const TokenTexts> token_texts)
      : texts(std::move(token_texts)) {
    if (!options.bad_words.empty()) bad_words = std::make_shared<const BadWords>(options.bad_words, texts);
    if (options.dry.on()) breakers = std::make_shared<const ByteAutomaton>(options.dry.sequence_breakers);
  }
};

}  // namespace inferd::sampling
