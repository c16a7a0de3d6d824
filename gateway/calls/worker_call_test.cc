// Unary calls whose workers die.
#include "gateway/calls/worker_call.h"

#include "gateway/testing/generation_fixture.h"

namespace inferd::gateway {
namespace {

class WorkerCallTest : public GenerationTest {
 protected:
  static v1::EmbedRequest EmbedRequestOf(const std::string& text) {
    v1::EmbedRequest request;
    request.set_model("chat");
    request.add_inputs()->set_text(text);
    return request;
  }

  std::future<absl::StatusOr<v1::EmbedResponse>> Embed(const std::string& text) {
    Executor executor = pool_.Next();
    return boost::asio::co_spawn(executor, CallIt(EmbedRequestOf(text), executor), boost::asio::use_future);
  }

  Task<absl::StatusOr<v1::EmbedResponse>> CallIt(v1::EmbedRequest request, Executor executor) {
    auto start = [&](WorkerConnection& worker, const std::shared_ptr<grpc::ClientContext>& context,
                     v1::EmbedResponse* response, std::function<void(grpc::Status)> done) {
      worker.inference->async()->Embed(context.get(), &request, response, std::move(done));
    };
    ModelCall call;
    call.model = "chat";
    call.request = &request;
    co_return co_await CallModel<v1::EmbedResponse>(upstream_, call, executor, start);
  }

  void DieTwice(StubProcess& stub) {
    for (int i = 0; i < 2; ++i) {
      stub.WaitForDeath();
      SetState("CRASHED");
      stub.Start();
      SetState("READY");
    }
  }
};

TEST_F(WorkerCallTest, ARequestUnderWhichTwoWorkersDieIsRefusedForAWhileAndOthersGoOn) {
  StubProcess stub(StubArguments());
  std::vector<std::future<Outcome>> innocent;
  for (int i = 0; i < 4; ++i) innocent.push_back(Run(Request("tokens=100 delay_us=3000")));
  WaitForDeltas(8);
  auto killer = Embed("die_reading=1");
  DieTwice(stub);
  EXPECT_TRUE(absl::IsInternal(killer.get().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Embed("die_reading=1").get().status()));
  EXPECT_TRUE(Embed("another").get().ok());
  for (auto& result : innocent) EXPECT_EQ(result.get().text, Words(100));
  clock_.Advance(PoisonList::kRefusedFor);
  EXPECT_TRUE(poison_.Check(EmbedRequestOf("die_reading=1"), "").ok());
}

TEST_F(WorkerCallTest, ARequestThatWaitsInAQueueIsNotBlamedForDeaths) {
  std::future<absl::StatusOr<v1::EmbedResponse>> result;
  KillWhileItWaits(3, [&] { result = Embed("queued=1"); });
  StubProcess stub(StubArguments());
  EXPECT_TRUE(result.get().ok());
}

// What a dying worker said last may be lost.
TEST_F(WorkerCallTest, ARequestUnderWhichWorkersDieAgainAndAgainEndsSomeTime) {
  std::future<absl::StatusOr<v1::EmbedResponse>> result;
  KillWhileItWaits(4, [&] { result = Embed("queued=1"); });
  EXPECT_TRUE(absl::IsInternal(result.get().status()));
  EXPECT_FALSE(poison_.Check(EmbedRequestOf("queued=1"), "").ok());
}

TEST_F(WorkerCallTest, ASuspectHasItsTurnAlone) {
  StubProcess stub(StubArguments());
  ASSERT_TRUE(gate_.TryEnter("chat"));
  auto killer = Embed("die_reading=1");
  stub.WaitForDeath();
  stub.Start();
  while (gate_.waiting("chat") == 0) {
    ASSERT_EQ(killer.wait_for(milliseconds(0)), std::future_status::timeout) << "went on before its turn";
    std::this_thread::yield();
  }
  EXPECT_TRUE(Embed("another").get().ok()) << "which no death is blamed on";
  EXPECT_EQ(killer.wait_for(milliseconds(0)), std::future_status::timeout);
  gate_.Leave("chat");
  stub.WaitForDeath();
  EXPECT_TRUE(absl::IsInternal(killer.get().status()));
  EXPECT_TRUE(gate_.TryEnter("chat")) << "is left";
}

// It gives no sign of getting further: what may be long is not waited for.
TEST_F(WorkerCallTest, ThoseThatMayHaveKilledDoNotWaitForTheEndOfACall) {
  upstream_.call_turn = milliseconds(1);
  std::future<Outcome> stream;
  std::future<absl::StatusOr<v1::EmbedResponse>> call;
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--hold-queue", "yes"});
  {
    StubProcess stub(StubArguments());
    ASSERT_TRUE(gate_.TryEnter("chat"));
    stream = Run(Request("tokens=100 delay_us=3000"));
    WaitForDeltas(8);
    call = Embed("die_reading=1 queued=1");
    stub.WaitForDeath();
  }
  StubProcess stub(arguments);
  while (gate_.waiting("chat") < 2) std::this_thread::yield();
  gate_.Leave("chat");
  EXPECT_EQ(stream.get().text, Words(100));
  EXPECT_EQ(call.wait_for(milliseconds(0)), std::future_status::timeout) << "is held by its worker";
  upstream_.running.EndAll(absl::UnavailableError("over"));
  EXPECT_EQ(MessageOf(call.get().status()), "over");
}

}  // namespace
}  // namespace inferd::gateway
