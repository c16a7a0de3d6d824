#include "worker/generation_request.h"

#include <gtest/gtest.h>

#include "config/base/status.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::worker {
namespace {

constexpr MonotonicTime kNow{std::chrono::seconds(100)};

absl::StatusOr<engine::GenerationRequest> Read(const v1::GenerateRequest& wire) {
  return ReadRequest(wire, {1, 2, 3}, kNow, std::nullopt);
}

TEST(ReadRequest, DefaultsAreThoseOfTheContract) {
  const engine::GenerationRequest request = *Read({});
  EXPECT_EQ(request.prompt, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(request.choices, 1u);
  EXPECT_FALSE(request.max_tokens);
  EXPECT_FALSE(request.logprobs);
  EXPECT_FALSE(request.deadline);
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.sampling.repeat_last_n, 64);
  EXPECT_EQ(request.priority, scheduler::Priority::kNormal);
}

TEST(ReadRequest, ARandomSeedIsMadeWhereNoneIsGiven) {
  EXPECT_NE(Read({})->seed, Read({})->seed);
  v1::GenerateRequest wire;
  wire.set_seed(0);
  EXPECT_EQ(Read(wire)->seed, 0u);
}

TEST(ReadRequest, EveryFieldArrives) {
  v1::GenerateRequest wire;
  v1::Sampling& sampling = *wire.mutable_sampling();
  sampling.set_temperature(0.5f);
  sampling.set_top_k(3);
  sampling.set_top_p(0.25f);
  sampling.set_min_p(0.125f);
  sampling.set_typical_p(0.75f);
  sampling.set_presence_penalty(1);
  sampling.set_frequency_penalty(-1);
  sampling.set_repeat_penalty(1.5f);
  sampling.set_repeat_last_n(9);
  (*sampling.mutable_logit_bias())[7] = 2;
  sampling.set_ignore_eos(true);
  wire.mutable_limits()->set_max_tokens(11);
  wire.mutable_limits()->set_min_tokens(4);
  wire.add_stop("x");
  for (const int32_t token : {9, 3, 9}) wire.add_stop_token_ids(token);
  wire.set_include_stop(true);
  for (const int32_t token : {8, 1, 1}) sampling.add_allowed_token_ids(token);
  wire.set_choices(2);
  wire.set_logprobs(5);
  wire.set_prompt_logprobs(true);
  wire.set_priority(v1::PRIORITY_BATCH);
  wire.set_cache_salt("tenant");
  v1::ResumeState& resumed = *wire.add_resume_tokens();
  resumed.set_choice(1);
  resumed.add_ids(8);
  resumed.set_delivered_bytes(2);
  const engine::GenerationRequest request = *Read(wire);
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.top_p, 0.25f);
  EXPECT_EQ(request.sampling.min_p, 0.125f);
  EXPECT_EQ(request.sampling.typical_p, 0.75f);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_EQ(request.sampling.repeat_penalty, 1.5f);
  EXPECT_EQ(request.sampling.repeat_last_n, 9);
  EXPECT_EQ(request.sampling.logit_bias, (std::vector<std::pair<int32_t, float>>{{7, 2.0f}}));
  EXPECT_TRUE(request.sampling.ignore_eos);
  EXPECT_EQ(request.sampling.allowed_tokens, (std::vector<int32_t>{1, 8}));
  EXPECT_EQ(request.stop_tokens, (std::vector<int32_t>{3, 9}));
  EXPECT_TRUE(request.include_stop);
  EXPECT_EQ(request.max_tokens, 11u);
  EXPECT_EQ(request.min_tokens, 4u);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x"}));
  EXPECT_EQ(request.choices, 2u);
  EXPECT_EQ(request.logprobs, 5);
  EXPECT_TRUE(request.prompt_logprobs);
  EXPECT_EQ(request.priority, scheduler::Priority::kBatch);
  ASSERT_EQ(request.resumed.size(), 1u);
  EXPECT_EQ(request.resumed[0].choice, 1u);
  EXPECT_EQ(request.resumed[0].tokens, (std::vector<int32_t>{8}));
  EXPECT_EQ(request.resumed[0].delivered_bytes, 2u);
}

TEST(ReadRequest, EverySamplerArrives) {
  EXPECT_EQ(Read({})->sampling.dry.sequence_breakers, sampling::DryOptions().sequence_breakers);
  v1::GenerateRequest wire;
  v1::Sampling& sampling = *wire.mutable_sampling();
  sampling.set_xtc_probability(0.5f);
  sampling.set_xtc_threshold(0.25f);
  sampling.set_dry_multiplier(0.75f);
  sampling.set_dry_base(2);
  sampling.set_dry_allowed_length(3);
  sampling.set_dry_penalty_last_n(100);
  sampling.add_dry_sequence_breakers("#");
  sampling.set_mirostat(2);
  sampling.set_mirostat_tau(4);
  sampling.set_mirostat_eta(0.5f);
  sampling.add_bad_words("bad");
  const engine::GenerationRequest request = *Read(wire);
  EXPECT_EQ(request.sampling.xtc_probability, 0.5f);
  EXPECT_EQ(request.sampling.xtc_threshold, 0.25f);
  EXPECT_EQ(request.sampling.dry.multiplier, 0.75f);
  EXPECT_EQ(request.sampling.dry.base, 2);
  EXPECT_EQ(request.sampling.dry.allowed_length, 3);
  EXPECT_EQ(request.sampling.dry.penalty_last_n, 100);
  EXPECT_EQ(request.sampling.dry.sequence_breakers, (std::vector<std::string>{"#"}));
  EXPECT_TRUE(request.sampling.mirostat);
  EXPECT_EQ(request.sampling.mirostat_tau, 4);
  EXPECT_EQ(request.sampling.mirostat_eta, 0.5f);
  EXPECT_EQ(request.sampling.bad_words, (std::vector<std::string>{"bad"}));
}

TEST(ReadRequest, OnlyTheSecondVersionOfMirostatIsThere) {
  v1::GenerateRequest wire;
  wire.mutable_sampling()->set_mirostat(0);
  EXPECT_FALSE(Read(wire)->sampling.mirostat);
  wire.mutable_sampling()->set_mirostat(1);
  EXPECT_EQ(MessageOf(Read(wire).status()), "mirostat: 1 is not supported, expected 0 (off) or 2");
}

TEST(ReadOverflow, TheRequestGoesBeforeTheConfiguration) {
  config::ModelOptions configured;
  v1::GenerateRequest wire;
  EXPECT_FALSE(ReadOverflow(wire, configured)->slide);
  configured.overflow = config::Overflow::kSlide;
  configured.overflow_keep = 7;
  EXPECT_TRUE(ReadOverflow(wire, configured)->slide);
  EXPECT_EQ(ReadOverflow(wire, configured)->keep, 7);
  wire.mutable_limits()->set_overflow(v1::OVERFLOW_STOP);
  wire.mutable_limits()->set_overflow_keep(0);
  EXPECT_FALSE(ReadOverflow(wire, configured)->slide);
  EXPECT_EQ(ReadOverflow(wire, configured)->keep, 0);
  wire.mutable_limits()->set_overflow(v1::OVERFLOW_SLIDE);
  EXPECT_TRUE(ReadOverflow(wire, {})->slide);
  wire.mutable_limits()->set_overflow(static_cast<v1::Overflow>(9));
  EXPECT_EQ(MessageOf(ReadOverflow(wire, {}).status()), "overflow: 9 is not a value of Overflow");
}

TEST(ReadRequest, TheEarlierDeadlineHolds) {
  v1::GenerateRequest wire;
  wire.set_deadline_ms(500);
  EXPECT_EQ(Read(wire)->deadline, kNow + Milliseconds(500));
  EXPECT_EQ(ReadRequest(wire, {1}, kNow, kNow + Milliseconds(300))->deadline, kNow + Milliseconds(300));
  EXPECT_EQ(ReadRequest(wire, {1}, kNow, kNow + Milliseconds(900))->deadline, kNow + Milliseconds(500));
  wire.set_deadline_ms(0);
  EXPECT_EQ(MessageOf(Read(wire).status()), "deadline_ms: 0 is not in [1, 31536000000]");
  wire.set_deadline_ms(UINT64_MAX);
  EXPECT_FALSE(Read(wire).ok());
}

TEST(ReadRequest, WhatIsTooLongOrUnknownIsNamed) {
  v1::GenerateRequest wire;
  wire.set_cache_salt(std::string(257, 'x'));
  EXPECT_EQ(MessageOf(Read(wire).status()), "cache_salt: 257 bytes, expected at most 256");
  wire.clear_cache_salt();
  wire.set_request_id(std::string(129, 'x'));
  EXPECT_EQ(MessageOf(Read(wire).status()), "request_id: 129 bytes, expected at most 128");
  wire.clear_request_id();
  wire.set_priority(static_cast<v1::Priority>(77));
  EXPECT_EQ(MessageOf(Read(wire).status()), "priority: 77 is not a value of Priority");
  wire.clear_priority();
  wire.mutable_constraint();
  EXPECT_EQ(MessageOf(Read(wire).status()),
            "constraint: is empty, expected one of json_object, json_schema, regex, grammar and choice");
}

TEST(ReadRequest, ALogprobsCountBeyondAnIntegerIsNotCutToOne) {
  v1::GenerateRequest wire;
  wire.set_logprobs(UINT32_MAX);
  EXPECT_EQ(Read(wire)->logprobs, INT32_MAX);  // which the engine refuses
}

}  // namespace
}  // namespace inferd::worker
