#include "gateway/calls/resume_record.h"

#include <gtest/gtest.h>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

v1::GenerateRequest Request(uint32_t choices) {
  v1::GenerateRequest request;
  request.set_text("Once");
  request.set_choices(choices);
  request.set_prompt_logprobs(true);
  return request;
}

v1::GenerateEvent Accepted(uint64_t seed) {
  v1::GenerateEvent event;
  event.mutable_accepted()->set_seed(seed);
  event.mutable_accepted()->set_rendered_unix_seconds(1'700'000'000);
  return event;
}

v1::GenerateEvent Text(uint32_t choice, const std::string& text, std::initializer_list<int32_t> ids) {
  v1::GenerateEvent event;
  event.mutable_delta()->set_choice(choice);
  event.mutable_delta()->set_text(text);
  for (const int32_t id : ids) event.mutable_delta()->add_token_ids(id);
  return event;
}

v1::GenerateEvent Finished(uint32_t choice) {
  v1::GenerateEvent event;
  event.mutable_finished()->set_choice(choice);
  return event;
}

TEST(ResumeRecord, SendsTheRequestAsItCameUntilAWorkerHasBegunIt) {
  ResumeRecord record(Request(2));
  EXPECT_EQ(record.NextRequest().SerializeAsString(), Request(2).SerializeAsString());
  v1::GenerateEvent waits;
  waits.mutable_waiting();
  EXPECT_FALSE(record.Take(waits));
  EXPECT_EQ(record.NextRequest().SerializeAsString(), Request(2).SerializeAsString());
}

TEST(ResumeRecord, GoesOnWithWhatEachChoiceHasGivenAndWhatTheFirstWorkerChose) {
  ResumeRecord record(Request(2));
  EXPECT_FALSE(record.Take(Accepted(7)));
  EXPECT_TRUE(record.Take(Text(0, "wéll", {4, 5})));
  EXPECT_TRUE(record.Take(Text(0, "", {6})));
  EXPECT_TRUE(record.Take(Finished(1)));
  v1::GenerateEvent call = Text(0, "", {});
  call.mutable_delta()->mutable_tool_call()->set_id("id");
  call.mutable_delta()->mutable_tool_call()->set_name("f");
  call.mutable_delta()->mutable_tool_call()->set_arguments("{}");
  EXPECT_TRUE(record.Take(call));
  EXPECT_FALSE(record.Take(Accepted(8))) << "the next worker's, which has the seed from us";

  for (int again = 0; again < 2; ++again) {
    const v1::GenerateRequest& next = record.NextRequest();
    EXPECT_EQ(next.seed(), 7u);
    EXPECT_EQ(next.rendered_unix_seconds(), 1'700'000'000);
    ASSERT_EQ(next.resume_tokens_size(), 2);
    const v1::ResumeState& first = next.resume_tokens(0);
    EXPECT_EQ(std::vector<int32_t>(first.ids().begin(), first.ids().end()), (std::vector<int32_t>{4, 5, 6}));
    EXPECT_EQ(first.delivered_bytes(), 5u + 2 + 1 + 2);
    EXPECT_FALSE(first.finished());
    EXPECT_TRUE(next.resume_tokens(1).finished());
  }
  EXPECT_FALSE(record.all_finished());
  record.Take(Finished(0));
  EXPECT_TRUE(record.all_finished());
}

TEST(ResumeRecord, AsksForThePromptsLogprobsOnlyUntilTheyCame) {
  ResumeRecord record(Request(1));
  record.Take(Accepted(1));
  EXPECT_TRUE(record.NextRequest().prompt_logprobs());
  v1::GenerateEvent prompt = Text(0, "Once", {});
  prompt.mutable_delta()->set_kind(v1::Delta::KIND_PROMPT);
  EXPECT_FALSE(record.Take(prompt));
  EXPECT_FALSE(record.NextRequest().prompt_logprobs());
  EXPECT_EQ(record.NextRequest().resume_tokens(0).delivered_bytes(), 0u);
}

TEST(ResumeRecord, KeepsWhatAClientBringsOfAnEarlierAnswer) {
  v1::GenerateRequest request = Request(1);
  request.add_resume_tokens()->add_ids(3);
  request.mutable_resume_tokens(0)->set_delivered_bytes(2);
  ResumeRecord record(request);
  EXPECT_EQ(record.NextRequest().SerializeAsString(), request.SerializeAsString());
  record.Take(Text(0, "x", {9}));
  EXPECT_EQ(record.NextRequest().resume_tokens(0).ids_size(), 2);
  EXPECT_EQ(record.NextRequest().resume_tokens(0).delivered_bytes(), 3u);
}

TEST(CheckResumeTokens, NamesAChoiceThatIsNotThereOrTwice) {
  v1::GenerateRequest request;
  request.add_resume_tokens();
  EXPECT_TRUE(CheckResumeTokens(request).ok());
  request.add_resume_tokens();
  EXPECT_EQ(MessageOf(CheckResumeTokens(request)), "resume_tokens: choice 0 is there twice");
  request.mutable_resume_tokens(1)->set_choice(1);
  EXPECT_EQ(MessageOf(CheckResumeTokens(request)), "resume_tokens: choice 1 is not below 1");
  request.set_choices(2);
  EXPECT_TRUE(CheckResumeTokens(request).ok());
  request.mutable_resume_tokens(1)->set_choice(4'000'000'000u);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckResumeTokens(request)));
}

}  // namespace
}  // namespace inferd::gateway
