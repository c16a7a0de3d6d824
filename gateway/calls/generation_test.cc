// Generations against real worker processes that are late, full and wrong.
#include "gateway/calls/generation.h"

#include "config/base/status_details.h"
#include "gateway/testing/generation_fixture.h"

namespace inferd::gateway {
namespace {

TEST_F(GenerationTest, GivesAllEventsInOrder) {
  StubProcess stub(StubArguments());
  Outcome outcome = Run(Request("tokens=3000")).get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.text, Words(3000));
  EXPECT_EQ(outcome.accepted, 1);
}

TEST_F(GenerationTest, WaitsForAModelThatIsComing) {
  SetState("LOADING");
  std::future<Outcome> result = Run(Request("tokens=2"));
  StubProcess stub(StubArguments());
  SetState("READY");
  EXPECT_EQ(result.get().text, Words(2));
}

TEST_F(GenerationTest, AsksForAnUnloadedModelAndWaitsForIt) {
  upstream_.start_wait = milliseconds(1);
  std::atomic<int> asked{0};
  upstream_.ensure_loaded = [&asked](std::string model, Executor) -> Task<absl::Status> {
    EXPECT_EQ(model, "chat");
    ++asked;
    co_return absl::OkStatus();
  };
  SetState("UNLOADED");
  std::future<Outcome> result = Run(Request("tokens=2"));
  while (asked == 0) std::this_thread::yield();
  SetState("LOADING");
  StubProcess stub(StubArguments());
  SetState("READY");
  EXPECT_EQ(result.get().text, Words(2));
  EXPECT_EQ(asked, 1);
}

TEST_F(GenerationTest, SaysWhyAModelCannotBeLoaded) {
  upstream_.ensure_loaded = [](std::string, Executor) -> Task<absl::Status> {
    co_return absl::ResourceExhaustedError("no room");
  };
  SetState("UNLOADED");
  absl::Status status = Run(Request("tokens=2")).get().status;
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(MessageOf(status), "the model 'chat' cannot be loaded: no room");
  EXPECT_TRUE(RetryAfterSeconds(status).has_value());
}

TEST_F(GenerationTest, TheWaitForAnUnloadedModelHasABound) {
  upstream_.load_wait = milliseconds(100);
  upstream_.ensure_loaded = [](std::string, Executor) -> Task<absl::Status> { co_return absl::OkStatus(); };
  SetState("UNLOADED");
  EXPECT_TRUE(absl::IsUnavailable(Run(Request("tokens=2")).get().status));
}

TEST_F(GenerationTest, GivesUpWaitingWithATimeToComeBack) {
  upstream_.start_wait = milliseconds(100);
  SetState("LOADING");
  absl::Status status = Run(Request("tokens=2")).get().status;
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(RetryAfterSeconds(status).has_value());
}

TEST_F(GenerationTest, DoesNotWaitForAModelThatFailed) {
  SetState("FAILED");
  EXPECT_TRUE(absl::IsUnavailable(Run(Request("tokens=2")).get().status));
}

TEST_F(GenerationTest, KnowsNoOtherModel) {
  v1::GenerateRequest request = Request("tokens=2");
  request.set_model("other");
  EXPECT_TRUE(absl::IsNotFound(Run(std::move(request)).get().status));
}

TEST_F(GenerationTest, PassesOnWhatTheWorkerSays) {
  StubProcess stub(StubArguments());
  absl::Status full = Run(Request("refuse=8 message=queue_full")).get().status;
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_EQ(MessageOf(full), "queue_full");
  EXPECT_EQ(RetryAfterSeconds(full), 3);  // the stub says 2500 ms
  EXPECT_EQ(ErrorCodeOf(full), "");
  EXPECT_EQ(ErrorCodeOf(Run(Request("refuse=8 code=deadline_too_short")).get().status), "deadline_too_short");
  EXPECT_EQ(ErrorCodeOf(Run(Request("refuse=8 code=anything")).get().status), "");
  EXPECT_EQ(MessageOf(Run(Request("refuse=3 field=stop message=bad")).get().status), "stop: bad");
  Outcome failed = Run(Request("tokens=9 fail_at=3 fail=13")).get();
  EXPECT_TRUE(absl::IsInternal(failed.status));
  EXPECT_EQ(failed.text, Words(3));
}

TEST_F(GenerationTest, EndsAtTheDeadline) {
  StubProcess stub(StubArguments());
  Generation::Options options;
  options.deadline = steady_clock::now() + milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run(Request("tokens=1000 delay_us=10000"), options).get().status));
  SetState("LOADING");
  options.deadline = steady_clock::now() + milliseconds(100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run(Request("tokens=1"), options).get().status));
}

TEST_F(GenerationTest, CancelEndsItAtOnce) {
  StubProcess stub(StubArguments());
  cancel_at_ = 3;
  EXPECT_TRUE(absl::IsCancelled(Run(Request("tokens=100000 delay_us=5000")).get().status));
}

TEST_F(GenerationTest, CancelEndsAWaitForAModelAtOnce) {
  upstream_.start_wait = std::chrono::hours(1);
  SetState("LOADING");
  Executor executor = pool_.Next();
  auto wait = [&]() -> Task<absl::Status> {
    Generation generation(upstream_, Request("tokens=2"), {}, executor);
    boost::asio::post(executor, [&] { generation.Cancel(); });
    const GenerationBatch batch = co_await generation.Next();
    co_return batch.end.value_or(absl::OkStatus());
  };
  auto result = boost::asio::co_spawn(executor, wait(), boost::asio::use_future);
  ASSERT_EQ(result.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_TRUE(absl::IsCancelled(result.get()));
}

TEST_F(GenerationTest, ThoseThatRunAndThoseThatWaitAreToldWhenTheTimeIsOver) {
  StubProcess stub(StubArguments());
  std::future<Outcome> running = Run(Request("tokens=100000 delay_us=5000"));
  WaitForDeltas(3);
  SetState("LOADING");
  std::future<Outcome> waiting = Run(Request("tokens=2"));
  upstream_.running.EndAll(Unavailable("over"));
  for (std::future<Outcome>* result : {&running, &waiting}) {
    Outcome outcome = result->get();
    EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
    EXPECT_EQ(MessageOf(outcome.status), "over");
  }
  EXPECT_EQ(MessageOf(Run(Request("tokens=2")).get().status), "over") << "one that comes later";
}

TEST_F(GenerationTest, ASetEndsThoughAPromptIsThroughBeforeTheNextStarts) {
  StubProcess stub(StubArguments());
  auto run_sets = [this](Executor executor) -> Task<int> {
    int events = 0;
    for (int i = 0; i < 1000; ++i) {
      std::vector<v1::GenerateRequest> requests;
      for (int prompt = 0; prompt < 3; ++prompt) requests.push_back(Request("tokens=0"));
      GenerationSet set(upstream_, std::move(requests), {}, executor);
      for (std::optional<absl::Status> end; !end;) {
        GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
        events += static_cast<int>(batch.events.size());
        end = batch.end;
      }
    }
    co_return events;
  };
  std::vector<std::future<int>> results;
  for (int i = 0; i < 6; ++i) {
    Executor executor = pool_.Next();
    results.push_back(boost::asio::co_spawn(executor, run_sets(executor), boost::asio::use_future));
  }
  for (auto& result : results) {
    ASSERT_EQ(result.wait_for(seconds(60)), std::future_status::ready);
    EXPECT_EQ(result.get(), 1000 * 3 * 2);  // accepted and finished of each prompt
  }
}

TEST_F(GenerationTest, GoesOnWhereTheClientSaysItsAnswerBrokeOff) {
  StubProcess stub(StubArguments());
  v1::GenerateRequest request = Request("tokens=9", 2);
  request.set_rendered_unix_seconds(1'700'000'000);
  v1::ResumeState* first = request.add_resume_tokens();
  for (int i = 0; i < 4; ++i) first->add_ids(i);
  first->set_delivered_bytes(Words(4).size());
  v1::ResumeState* second = request.add_resume_tokens();
  second->set_choice(1);
  second->set_finished(true);
  Outcome outcome = Run(request).get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(Words(4) + outcome.text, Words(9));
}

// The worker holds three at a time: the others wait for those of the same list.
TEST_F(GenerationTest, AListLongerThanTheQueueIsAnsweredWhole) {
  StubProcess stub(StubArguments());
  Executor executor = pool_.Next();
  auto consume = [&]() -> Task<Outcome> {
    Outcome outcome;
    std::vector<v1::GenerateRequest> requests;
    for (int i = 0; i < 200; ++i) requests.push_back(Request("tokens=2 most=3 delay_us=100"));
    GenerationSet set(upstream_, std::move(requests), {}, executor);
    while (true) {
      GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
      for (const auto& [prompt, event] : batch.events) outcome.completion_tokens += event.delta().token_ids_size();
      if (batch.end) {
        outcome.status = *batch.end;
        co_return outcome;
      }
    }
  };
  auto result = boost::asio::co_spawn(executor, consume(), boost::asio::use_future);
  ASSERT_EQ(result.wait_for(seconds(60)), std::future_status::ready);
  Outcome outcome = result.get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.completion_tokens, 400u);
}

TEST_F(GenerationTest, AListThatFindsAFullQueueOfOthersIsRefused) {
  StubProcess stub(StubArguments());
  std::future<Outcome> other = Run(Request("tokens=100000 delay_us=1000"));
  WaitForDeltas(1);
  Outcome outcome = Run(Request("tokens=2 most=1")).get();
  EXPECT_TRUE(absl::IsResourceExhausted(outcome.status)) << outcome.status;
  cancel_at_ = 1;
  other.get();
}

TEST_F(GenerationTest, ASlowConsumerLosesNothing) {
  StubProcess stub(StubArguments());
  // More events than GenerateCall holds back, so that reading pauses and goes on.
  Outcome outcome = Run(Request("tokens=20000")).get();
  EXPECT_EQ(outcome.text, Words(20000));
}

TEST(RequestDigest, IsOfWhatDecidesTheOutput) {
  v1::GenerateRequest request;
  request.set_text("a");
  (*request.mutable_sampling()->mutable_logit_bias())[1] = 2;
  (*request.mutable_sampling()->mutable_logit_bias())[3] = 4;
  std::string digest = RequestDigest(request);
  v1::GenerateRequest same = request;
  same.set_request_id("r");
  same.set_user("u");
  same.set_deadline_ms(5);
  same.set_seed(9);
  same.set_rendered_unix_seconds(9);
  same.add_resume_tokens()->add_ids(1);
  EXPECT_EQ(RequestDigest(same), digest);
  v1::GenerateRequest other = request;
  other.set_text("b");
  EXPECT_NE(RequestDigest(other), digest);
  v1::TokenizeRequest tokenize;
  v1::DetokenizeRequest detokenize;
  EXPECT_NE(RequestDigest(tokenize), RequestDigest(detokenize)) << "of another call";
}

}  // namespace
}  // namespace inferd::gateway
