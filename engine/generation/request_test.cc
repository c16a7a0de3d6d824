#include "engine/generation/request.h"

#include <gtest/gtest.h>

#include "config/base/status.h"

namespace inferd::engine {
namespace {

const RequestLimits kLimits{.vocabulary_size = 100, .context_tokens = 50, .pool_tokens = 40};

GenerationRequest Request(size_t prompt, std::optional<uint32_t> max_tokens = std::nullopt) {
  return {.prompt = std::vector<int32_t>(prompt, 5), .max_tokens = max_tokens};
}

TEST(Request, ThePromptMustLeaveRoomForOneToken) {
  const RequestLimits limits{.vocabulary_size = 100, .context_tokens = 50, .pool_tokens = 50};
  EXPECT_TRUE(Validate(Request(49), limits).ok());
  EXPECT_TRUE(Validate(Request(50, 0), limits).ok());
  const absl::Status status = Validate(Request(50), limits);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(MessageOf(status),
            "prompt: this model's maximum context length is 50 tokens, but the prompt has 50 tokens");
}

TEST(Request, WhatThePoolCanNeverHoldIsRefused) {
  EXPECT_TRUE(Validate(Request(30, 10), kLimits).ok());
  const absl::Status status = Validate(Request(30, 11), kLimits);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(MessageOf(status),
            "prompt: the KV cache holds 40 tokens, but prompt and max_tokens together have 41 tokens");
  EXPECT_TRUE(Validate(Request(39), kLimits).ok()) << "without max_tokens, the pool's end is the end";
  EXPECT_EQ(MostTokens(Request(39), kLimits), 1);
}

TEST(Request, MoreTokensThanTheContextHasAreCutToIt) {
  const RequestLimits limits{.vocabulary_size = 100, .context_tokens = 50, .pool_tokens = 50};
  EXPECT_TRUE(Validate(Request(10, 4000000000), limits).ok());
  EXPECT_EQ(MostTokens(Request(10, 4000000000), limits), 40);
}

TEST(Request, BanningEveryTokenIsRefusedWithTheOptionsName) {
  const RequestLimits limits{.vocabulary_size = 4, .end_of_generation = {3}, .context_tokens = 50, .pool_tokens = 40};
  GenerationRequest request = Request(3, 5);
  EXPECT_TRUE(CheckBans(request, limits).ok());
  request.sampling.logit_bias = {{0, -100.0f}, {1, -100.0f}, {2, -100.0f}};
  EXPECT_TRUE(CheckBans(request, limits).ok()) << "the end is left";
  request.sampling.ignore_eos = true;
  EXPECT_EQ(CheckBans(request, limits),
            InvalidField("logit_bias",
                         "no token is left of the vocabulary of 4, ignore_eos or min_tokens keeping the end off"));
  request.sampling = {.logit_bias = {{0, -100.0f}, {1, -100.0f}, {2, -100.0f}, {3, -100.0f}}};
  EXPECT_EQ(MessageOf(CheckBans(request, limits)), "logit_bias: no token is left of the vocabulary of 4");
  request.sampling = {.allowed_tokens = {1, 3}};
  EXPECT_TRUE(CheckBans(request, limits).ok());
  request.sampling.logit_bias = {{1, -100.0f}};
  request.sampling.ignore_eos = true;
  EXPECT_TRUE(MessageOf(CheckBans(request, limits)).starts_with("allowed_token_ids: no token is left"));
  request.max_tokens = 0;
  EXPECT_TRUE(CheckBans(request, limits).ok()) << "nothing is to be drawn";
  request.max_tokens = 5;
  request.sampling = {.ignore_eos = true, .bad_words = {"a"}};
  const auto texts = [](int32_t, bool) { return std::string("a"); };
  request.text_rules = sampling::TextRules(request.sampling,
                                           std::make_shared<const sampling::TokenTexts>(limits.vocabulary_size, texts));
  EXPECT_EQ(CheckBans(request, limits).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(MessageOf(CheckBans(request, limits)).starts_with("bad_words: no token is left"));
}

TEST(Request, SlidingGoesOnBeyondTheContext) {
  GenerationRequest request = Request(30, 1000);
  EXPECT_FALSE(Validate(request, kLimits).ok());
  request.overflow.slide = true;
  EXPECT_TRUE(Validate(request, kLimits).ok());
  EXPECT_EQ(MostTokens(request, kLimits), 1000);
  request.prompt.assign(40, 5);
  EXPECT_EQ(Validate(request, kLimits).code(), absl::StatusCode::kOutOfRange) << "the prompt must fit all the same";
  request = Request(30);
  request.overflow = {.slide = true, .keep = 21};
  EXPECT_EQ(MostTokens(request, kLimits), 10);
  EXPECT_EQ(MessageOf(Validate(request, kLimits)),
            "overflow_keep: 21 is not in [0, 20]: half of a sequence can be kept, and the KV cache holds 40 tokens");
}

TEST(Request, AnErrorNamesTheFieldAndTheValue) {
  GenerationRequest request = Request(3, 5);
  const auto message = [&](auto change) {
    GenerationRequest changed = request;
    change(changed);
    return std::string(MessageOf(Validate(changed, kLimits)));
  };
  EXPECT_EQ(message([](auto& r) { r.prompt.clear(); }), "prompt: it has no tokens, expected at least 1");
  EXPECT_EQ(message([](auto& r) { r.prompt[1] = 100; }),
            "prompt: id 100 at index 1 is not in the vocabulary of 100 tokens");
  EXPECT_EQ(message([](auto& r) { r.prompt[2] = -1; }),
            "prompt: id -1 at index 2 is not in the vocabulary of 100 tokens");
  EXPECT_EQ(message([](auto& r) { r.choices = 0; }), "choices: 0 is not in [1, 128]");
  EXPECT_EQ(message([](auto& r) { r.choices = 129; }), "choices: 129 is not in [1, 128]");
  EXPECT_EQ(message([](auto& r) { r.logprobs = 21; }), "logprobs: 21 is not in [0, 20]");
  EXPECT_EQ(message([](auto& r) { r.min_tokens = 6; }), "min_tokens: 6 is more than max_tokens 5");
  EXPECT_EQ(message([](auto& r) { r.stop = {""}; }), "stop: text 0 has 0 bytes, expected 1 to 256");
  EXPECT_EQ(message([](auto& r) { r.sampling.top_p = 2; }), "top_p: 2 is not in (0, 1]");
  EXPECT_EQ(message([](auto& r) { r.sampling.xtc_threshold = 2; }), "xtc_threshold: 2 is not in [0, 1]");
  EXPECT_EQ(message([](auto& r) { r.sampling.dry.allowed_length = -1; }), "dry_allowed_length: -1 is less than 0");
  EXPECT_EQ(message([](auto& r) { r.sampling.dry.sequence_breakers = {""}; }),
            "dry_sequence_breakers: text 0 has 0 bytes, expected 1 to 256");
  EXPECT_EQ(message([](auto& r) { r.sampling.bad_words = {""}; }), "bad_words: text 0 has 0 bytes, expected 1 to 256");
  EXPECT_EQ(message([](auto& r) { r.resumed = {{.choice = 1}}; }), "resume_tokens: choice 1 is not below 1");
  EXPECT_EQ(message([](auto& r) {
              r.resumed = {{.choice = 0}, {.choice = 0}};
            }),
            "resume_tokens: choice 0 is there twice");
  EXPECT_EQ(message([](auto& r) {
              r.resumed = {{.tokens = {1, 2, 3, 4, 5, 6}}};
            }),
            "resume_tokens: choice 0 has 6 tokens, expected at most 5");
  EXPECT_EQ(message([](auto& r) { r.resumed = {{.tokens = {777}}}; }),
            "resume_tokens: id 777 at index 0 is not in the vocabulary of 100 tokens");
}

}  // namespace
}  // namespace inferd::engine
