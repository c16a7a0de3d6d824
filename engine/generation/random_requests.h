// Requests of all kinds for the tests of the same bits: lengths, beginnings in common, every sampling option, choices,
// log-probabilities, stop texts, constraints, sliding.
//
//   RandomRequests random(/*seed=*/7, {.vocabulary = FakeModel::Vocabulary()});
//   GenerationRequest request = random.Next();
//   random.GoOn(request, answer, /*most_tokens=*/300, request);    // its next turn
#pragma once

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "engine/constraint/answer_constraint.h"
#include "engine/generation/request.h"
#include "engine/generation/transcript.h"
#include "engine/generation/vocabulary.h"
#include "engine/sampling/text_rules.h"

namespace inferd::engine {

class RandomRequests {
 public:
  struct Options {
    Vocabulary vocabulary;          // at least 64 tokens; token t reads "<t> "
    uint32_t longest_part = 200;    // a prompt's beginning in common, and the rest of it
    uint32_t longest_answer = 100;  // mostly a third of it
    int64_t slides_at = 0;          // > 0: some answers go on beyond a context of so many tokens
  };

  RandomRequests(uint32_t seed, Options options)
      : random_(seed),
        options_(std::move(options)),
        texts_(
            std::make_shared<const sampling::TokenTexts>(options_.vocabulary.size, options_.vocabulary.token_bytes)) {}

  uint32_t Below(uint32_t bound) { return random_() % bound; }
  bool Chance(uint32_t one_in) { return Below(one_in) == 0; }

  GenerationRequest Next() {
    GenerationRequest request;
    AddPrompt(request);
    request.sampling = Sampling();
    if (sampling::TextRules::NeededBy(request.sampling)) {
      request.text_rules = sampling::TextRules(request.sampling, texts_);
    }
    if (Chance(6)) request.constraint = constraint_;
    request.seed = random_();
    request.choices = Chance(6) ? 1 + Below(4) : 1;
    request.max_tokens = Below(Chance(4) ? options_.longest_answer : options_.longest_answer / 3);
    request.min_tokens = Chance(5) ? Below(*request.max_tokens + 1) : 0;
    if (Chance(4)) request.stop = {std::to_string(Below(60)) + " 1", "7 7"};
    if (Chance(3)) request.logprobs = static_cast<int32_t>(Below(4));
    request.prompt_logprobs = Chance(8);
    request.priority = static_cast<scheduler::Priority>(Below(4));
    request.cache_salt = Below(2);
    if (options_.slides_at > 0 && Chance(12)) Slide(request);
    return request;
  }

  // Makes `request` the next turn of one that got this answer, if that is to be had with no more tokens than that.
  bool GoOn(const GenerationRequest& before, const Transcript& answer, size_t most_tokens, GenerationRequest& request) {
    if (before.overflow.slide || !answer.choices.contains(0)) return false;
    std::vector<int32_t> prompt = before.prompt;
    const std::vector<int32_t>& tokens = answer.choices.at(0).tokens;
    prompt.insert(prompt.end(), tokens.begin(), tokens.end());
    for (uint32_t n = 1 + Below(20); n > 0; --n) prompt.push_back(Token());
    if (prompt.size() > most_tokens) return false;
    request.prompt = std::move(prompt);
    request.cache_salt = before.cache_salt;
    request.choices = 1;
    request.prompt_logprobs = request.overflow.slide = false;
    return true;
  }

 private:
  int32_t Token() { return 3 + static_cast<int32_t>(Below(static_cast<uint32_t>(options_.vocabulary.size) - 4)); }

  // A few beginnings in common, then tokens of its own.
  void AddPrompt(GenerationRequest& request) {
    std::mt19937 beginning(Below(4));
    for (uint32_t n = Chance(2) ? Below(options_.longest_part) : 0; n > 0; --n) {
      request.prompt.push_back(3 + static_cast<int32_t>(beginning() % 60));
    }
    for (uint32_t n = Chance(5) ? Below(options_.longest_part) : Below(20) + 1; n > 0; --n) {
      request.prompt.push_back(Token());
    }
    if (Chance(6)) {  // a text that repeats itself is guessed well
      const std::vector<int32_t> part(request.prompt.end() - std::min<long>(9, std::ssize(request.prompt)),
                                      request.prompt.end());
      for (int i = 0; i < 4; ++i) request.prompt.insert(request.prompt.end(), part.begin(), part.end());
    }
    if (request.prompt.empty()) request.prompt.push_back(5);
  }

  void Slide(GenerationRequest& request) {
    const int64_t most = options_.slides_at - 10;
    while (static_cast<int64_t>(request.prompt.size()) < most) request.prompt.push_back(Token());
    request.prompt.resize(static_cast<size_t>(most));
    request.max_tokens = 30;
    request.min_tokens = 0;
    request.overflow = {.slide = true, .keep = Below(70)};
    request.sampling.ignore_eos = true;
  }

  sampling::SamplingOptions Sampling() {
    sampling::SamplingOptions options{.temperature = Chance(3) ? 0.0f : 0.5f + 0.1f * static_cast<float>(Below(10))};
    if (Chance(4)) options.top_k = 1 + static_cast<int32_t>(Below(70));
    if (Chance(4)) options.top_p = 0.3f + 0.1f * static_cast<float>(Below(7));
    if (Chance(4)) options.min_p = 0.05f * static_cast<float>(Below(10));
    if (Chance(6)) options.typical_p = 0.5f;
    if (Chance(5)) options.presence_penalty = 0.7f;
    if (Chance(5)) options.frequency_penalty = -0.3f;
    if (Chance(5)) options.repeat_penalty = 1.3f;
    if (Chance(6)) options.repeat_last_n = static_cast<int32_t>(Below(90)) - 1;
    if (Chance(6)) options.count_last_n = static_cast<int32_t>(Below(20)) - 1;
    if (Chance(6)) options.logit_bias = {{static_cast<int32_t>(Below(64)), 3.0f}, {9, -100.0f}};
    options.ignore_eos = Chance(3);
    if (Chance(5)) options.xtc_probability = 0.5f, options.xtc_threshold = 0.02f * static_cast<float>(Below(20));
    if (Chance(5)) {
      options.dry = {.multiplier = 3,
                     .base = 1 + 0.5f * static_cast<float>(Below(3)),
                     .allowed_length = static_cast<int32_t>(Below(3)),
                     .penalty_last_n = Chance(2) ? -1 : static_cast<int32_t>(Below(200)),
                     .sequence_breakers = {std::to_string(Below(60)) + " "}};
    }
    if (Chance(6)) options.mirostat = true, options.mirostat_tau = 3, options.mirostat_eta = 0.3f;
    if (Chance(5)) options.bad_words = {std::to_string(Below(60)) + " " + std::to_string(Below(9)), "31"};
    return options;
  }

  std::mt19937 random_;
  const Options options_;
  const std::shared_ptr<const sampling::TokenTexts> texts_;
  const constraint::Constraint constraint_ =
      *constraint::ConstraintCache(texts_, options_.vocabulary.end_of_generation)
           .Get(constraint::SourceOf({.kind = constraint::OutputKind::kRegex, .text = "([1-5][0-9] ){2,}(7 )*"}));
};

}  // namespace inferd::engine
