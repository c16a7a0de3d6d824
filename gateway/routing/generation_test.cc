// Generations against real worker processes that are killed, restarted, late and wrong.
// Long because each way in which a worker can be missing is a case over the same fixture.
#include "gateway/routing/generation.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <functional>
#include <future>

#include "config/base/status.h"
#include "gateway/http/io_pool.h"
#include "gateway/metrics/gateway_metrics.h"
#include "gateway/openai/errors.h"
#include "gateway/routing/generation_set.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/testing/stub_process.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Outcome {
  std::string text;
  int accepted = 0;
  uint32_t completion_tokens = 0;
  absl::Status status;
};

class GenerationTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/inferd-generation-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    address_ = "unix:" + folder_ + "/w.sock";
    SetState("READY");
  }
  void TearDown() override {
    pool_.Stop();
    unlink((folder_ + "/w.sock").c_str());
    rmdir(folder_.c_str());
  }

  void SetState(const std::string& state) {
    v1::RouteSnapshot snapshot;
    snapshot.set_revision(++revision_);
    v1::Route* route = snapshot.add_routes();
    route->set_model("chat");
    route->set_on_demand(state == "UNLOADED");
    v1::RouteVersion* version = route->add_versions();
    version->set_version(1);
    version->set_weight(100);
    version->set_address(address_);
    version->set_state(state);
    version->set_fingerprint("fp_0123456789abcdef");
    routes_.Update(std::make_shared<const RouteTable>(snapshot));
  }

  std::vector<std::string> StubArguments() { return {"--listen", address_, "--model", "chat"}; }

  static v1::GenerateRequest Request(const std::string& prompt, uint32_t choices = 1) {
    v1::GenerateRequest request;
    request.set_model("chat");
    request.set_text(prompt);
    request.set_choices(choices);
    return request;
  }

  // Runs to the end on a thread of the pool; counts the deltas that came so far in `deltas_`.
  std::future<Outcome> Run(v1::GenerateRequest request, Generation::Options options = {}) {
    Executor executor = pool_.Next();
    return boost::asio::co_spawn(executor, Consume(std::move(request), std::move(options), executor),
                                 boost::asio::use_future);
  }

  Task<Outcome> Consume(v1::GenerateRequest request, Generation::Options options, Executor executor) {
    Outcome outcome;
    std::vector<v1::GenerateRequest> requests;
    requests.push_back(std::move(request));
    GenerationSet set(upstream_, std::move(requests), options, executor);
    while (true) {
      GenerationSet::Batch batch = co_await set.Next(TimePoint::max());
      for (const auto& [prompt, event] : batch.events) {
        outcome.accepted += event.has_accepted();
        if (event.has_delta()) {
          ++deltas_;
          if (event.delta().choice() == 0) outcome.text += event.delta().text();
        }
        if (event.has_finished()) outcome.completion_tokens += event.finished().usage().completion_tokens();
      }
      if (cancel_at_ > 0 && deltas_ >= cancel_at_) set.Cancel();
      if (batch.end) {
        outcome.status = *batch.end;
        co_return outcome;
      }
    }
  }

  void WaitForDeltas(int count) {
    auto end = steady_clock::now() + seconds(20);
    while (deltas_ < count && steady_clock::now() < end) std::this_thread::yield();
    ASSERT_GE(deltas_, count);
  }

  void KillWhileItWaits(int times, const std::function<void()>& start);

  static std::string Words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("w{} ", i);
    return text;
  }

  std::string folder_;
  std::string address_;
  uint64_t revision_ = 0;
  Routes routes_;
  WorkerPool workers_;
  FakeClock clock_;
  PoisonList poison_{clock_};
  ResumeGate gate_;
  GatewayMetrics metrics_;
  Upstream upstream_{routes_, workers_, poison_, gate_, metrics_};
  std::atomic<int> deltas_{0};
  std::atomic<int> cancel_at_{0};
  IoPool pool_{2};
};

TEST_F(GenerationTest, GivesAllEventsInOrder) {
  StubProcess stub(StubArguments());
  Outcome outcome = Run(Request("tokens=3000")).get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.text, Words(3000));
  EXPECT_EQ(outcome.accepted, 1);
}

TEST_F(GenerationTest, GoesOnWithTheSameBytesAfterAKill) {
  StubProcess stub(StubArguments());
  for (uint32_t choices : {1u, 3u}) {
    deltas_ = 0;
    std::future<Outcome> result = Run(Request("tokens=60 delay_us=5000", choices));
    WaitForDeltas(7);
    stub.Kill();
    SetState("CRASHED");
    stub.Start();
    SetState("READY");
    Outcome outcome = result.get();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.text, Words(60));
    EXPECT_EQ(outcome.accepted, 1);
    EXPECT_EQ(outcome.completion_tokens, 60 * choices);
  }
}

TEST_F(GenerationTest, SurvivesManyDeathsWhileItGetsFurther) {
  StubProcess stub(StubArguments());
  std::future<Outcome> result = Run(Request("tokens=80 delay_us=5000"));
  for (int i = 1; i <= 4; ++i) {
    WaitForDeltas(i * 10);
    stub.Kill();
    stub.Start();
  }
  EXPECT_EQ(result.get().text, Words(80));
}

TEST_F(GenerationTest, ARequestThatKillsTwoWorkersIsRefusedForAWhile) {
  StubProcess stub(StubArguments());
  std::future<Outcome> result = Run(Request("tokens=10 die_at=4"));
  stub.WaitForDeath();
  stub.Start();
  stub.WaitForDeath();
  stub.Start();
  Outcome outcome = result.get();
  EXPECT_TRUE(absl::IsInternal(outcome.status)) << outcome.status;
  EXPECT_EQ(outcome.text, Words(4));
  EXPECT_TRUE(absl::IsFailedPrecondition(Run(Request("tokens=10 die_at=4")).get().status));
  EXPECT_EQ(Run(Request("tokens=10")).get().text, Words(10));
  clock_.Advance(PoisonList::kRefusedFor);
  EXPECT_FALSE(poison_.Contains(Request("tokens=10 die_at=4")));
}

TEST_F(GenerationTest, WaitsForTheNextWorkerFromTheDeathOn) {
  upstream_.start_wait = milliseconds(100);
  upstream_.resume_wait = seconds(20);
  StubProcess stub(StubArguments());
  // Without a token for longer than it would have waited at the start.
  std::future<Outcome> result = Run(Request("tokens=2 delay_us=300000 die_at=0"));
  stub.WaitForDeath();
  stub.Start();
  stub.WaitForDeath();
  absl::Status status = result.get().status;
  EXPECT_TRUE(absl::IsInternal(status)) << status;  // it reached the second worker
}

// Started to hold what is "queued", so often killed in the middle.
void GenerationTest::KillWhileItWaits(int times, const std::function<void()>& start) {
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--hold-queue", "yes"});
  for (int i = 0; i < times; ++i) {
    StubProcess stub(arguments);
    if (i == 0) start();
    const auto worker = v1::Worker::NewStub(MakeChannel(address_));
    const auto end = steady_clock::now() + seconds(20);
    v1::StatsResponse stats;
    while (stats.requests_waiting() == 0 && steady_clock::now() < end) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      worker->Stats(&context, {}, &stats);
    }
    ASSERT_EQ(stats.requests_waiting(), 1u);
  }
}

TEST_F(GenerationTest, ARequestThatWaitsInAQueueIsNotBlamedForDeaths) {
  const std::string prompt = "tokens=3 queued=1";
  std::future<Outcome> result;
  KillWhileItWaits(3, [&] { result = Run(Request(prompt)); });
  StubProcess stub(StubArguments());
  Outcome outcome = result.get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.text, Words(3));
}

TEST_F(GenerationTest, AResumedRequestThatWaitsInAQueueIsNotBlamedForDeaths) {
  const std::string prompt = "tokens=9 queued=1 delay_us=20000";
  std::future<Outcome> result;
  {
    StubProcess stub(StubArguments());
    result = Run(Request(prompt));
    WaitForDeltas(2);
  }
  KillWhileItWaits(2, [] {});
  StubProcess stub(StubArguments());
  Outcome outcome = result.get();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.text, Words(9));
}

// Which may kill before it is known to be computed.
TEST_F(GenerationTest, ARequestUnderWhichWorkersDieAgainAndAgainEndsSomeTime) {
  std::future<Outcome> result;
  KillWhileItWaits(4, [&] { result = Run(Request("tokens=3 queued=1")); });
  EXPECT_TRUE(absl::IsInternal(result.get().status));
  EXPECT_TRUE(poison_.Contains(Request("tokens=3 queued=1")));
}

TEST_F(GenerationTest, TheInnocentBesideAKillerGoOn) {
  StubProcess stub(StubArguments());
  std::vector<std::future<Outcome>> innocent;
  for (int i = 0; i < 8; ++i) innocent.push_back(Run(Request("tokens=300 delay_us=3000")));
  WaitForDeltas(20);
  std::future<Outcome> killer = Run(Request("tokens=10 die_at=2"));
  stub.WaitForDeath();
  stub.Start();
  stub.WaitForDeath();
  stub.Start();
  EXPECT_TRUE(absl::IsInternal(killer.get().status));
  for (auto& result : innocent) {
    Outcome outcome = result.get();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.text, Words(300));
  }
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
  EXPECT_TRUE(RetryAfter(status).has_value());
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
  EXPECT_TRUE(RetryAfter(status).has_value());
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
  EXPECT_EQ(RetryAfter(full), 3);  // the stub says 2500 ms
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

TEST_F(GenerationTest, ThoseThatRunAndThoseThatWaitAreToldWhenTheTimeIsOver) {
  StubProcess stub(StubArguments());
  std::future<Outcome> running = Run(Request("tokens=100000 delay_us=5000"));
  WaitForDeltas(3);
  SetState("LOADING");
  std::future<Outcome> waiting = Run(Request("tokens=2"));
  upstream_.running.EndAll(Unavailable("over"));
  SetState("LOADING");  // who waits for a table looks up
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
}

}  // namespace
}  // namespace inferd::gateway
