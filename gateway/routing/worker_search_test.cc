// Searches without workers: what a worker does, and how time passes, is said by the test.
#include "gateway/routing/worker_search.h"

#include <gmock/gmock.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "config/base/status_details.h"
#include "gateway/testing/generation_fixture.h"

namespace inferd::gateway {
namespace {

constexpr auto kRest = milliseconds(50);

class WorkerSearchTest : public GenerationTest {
 protected:
  using Steps = std::function<Task<absl::Status>(Executor)>;

  // Runs to its end on a thread of the pool, where a search lives.
  absl::Status Do(const Steps& steps) {
    const Executor executor = pool_.Next();
    auto result = boost::asio::co_spawn(executor, steps(executor), boost::asio::use_future);
    if (result.wait_for(seconds(60)) != std::future_status::ready) return absl::InternalError("it hangs");
    return result.get();
  }

  // One search of its own that meets `meanwhile` when it waits first.
  absl::Status Search(WorkerSearch::Wanted wanted, std::function<void(WorkerSearch&)> meanwhile) {
    return Do([&](Executor executor) -> Task<absl::Status> {
      WorkerSearch search(upstream_, wanted, executor);
      boost::asio::post(executor, [&] { meanwhile(search); });
      co_return (co_await search.Next()).status();
    });
  }

  WorkerSearch::Wanted Wanted() { return {.model = "chat", .request = &request_}; }

  static CallEnd Lost(bool begun) {
    return {.outcome = CallOutcome::kWorkerLost, .status = absl::UnavailableError("lost"), .begun = begun};
  }
  static CallEnd NotReached() {
    return {.outcome = CallOutcome::kNotReached, .status = absl::UnavailableError("not reached")};
  }
  static CallEnd TurnedAway() { return {.status = absl::UnavailableError("the worker drains")}; }

  // Lets `search` find a worker and lose it in this way.
  static Task<absl::Status> CallOnce(WorkerSearch& search, CallEnd end) {
    if (const auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
    search.Calling([] {});
    co_return search.AfterEnd(end).value_or(absl::OkStatus());
  }

  v1::GenerateRequest request_ = Request("tokens=1");
  FakeClock time_;
  Upstream upstream_{.routes = routes_, .workers = workers_, .poison = poison_, .gate = gate_, .clock = time_};
};

TEST_F(WorkerSearchTest, GivesTheWorkerThatIsReady) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    auto worker = co_await search.Next();
    if (!worker.ok()) co_return worker.status();
    EXPECT_EQ((*worker)->address, address_);
    co_return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(WorkerSearchTest, WaitsForAVersionThatIsComingAsLongAsItMay) {
  SetState("LOADING");
  const absl::Status found = Search(Wanted(), [&](WorkerSearch&) {
    time_.Advance(upstream_.start_wait - milliseconds(1));
    SetState("READY");
  });
  EXPECT_TRUE(found.ok()) << found;
  SetState("LOADING");
  const absl::Status late = Search(Wanted(), [&](WorkerSearch&) {
    time_.Advance(upstream_.start_wait);
    SetState("READY");
  });
  EXPECT_EQ(MessageOf(late), "the model 'chat' is not ready (state LOADING)") << "what it saw last";
  EXPECT_TRUE(RetryAfterSeconds(late).has_value());
}

TEST_F(WorkerSearchTest, EndsAtTheDeadlineWhateverItWaitsFor) {
  upstream_.ensure_loaded = [](std::string, Executor) -> Task<absl::Status> { co_return absl::OkStatus(); };
  for (const char* state : {"LOADING", "UNLOADED"}) {
    SetState(state);
    WorkerSearch::Wanted wanted = Wanted();
    wanted.deadline = time_.Now() + seconds(1);
    const absl::Status status = Search(wanted, [&](WorkerSearch&) {
      time_.Advance(seconds(1));
      SetState("READY");
    });
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << state << ": " << status;
  }
}

TEST_F(WorkerSearchTest, AsksForAnUnloadedModelNowAndAgain) {
  SetState("UNLOADED");
  int asked = 0;
  upstream_.ensure_loaded = [&](std::string, Executor) -> Task<absl::Status> {
    ++asked;
    co_return absl::UnavailableError("the supervisor does not answer");
  };
  upstream_.load_wait = std::chrono::hours(1);
  std::vector<int> counts;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    const auto others_go_on = [&]() -> Task<void> {
      for (int i = 0; i < 20; ++i) co_await boost::asio::post(executor, boost::asio::use_awaitable);
    };
    const auto time_passes = [&]() -> Task<void> {
      co_await others_go_on();
      for (const milliseconds time : {milliseconds(4999), milliseconds(1), milliseconds(4999), milliseconds(1)}) {
        time_.Advance(time);
        SetState("UNLOADED");
        co_await others_go_on();
        counts.push_back(asked);
      }
      SetState("READY");
    };
    boost::asio::co_spawn(executor, time_passes(), boost::asio::detached);
    co_return (co_await search.Next()).status();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts, (std::vector<int>{1, 2, 2, 3}));
}

TEST_F(WorkerSearchTest, RestsBeforeItBelievesTheRoutesThatLedToALostWorker) {
  bool rested = false;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    if (absl::Status lost = co_await CallOnce(search, Lost(false)); !lost.ok()) co_return lost;
    boost::asio::post(executor, [&] {
      time_.Advance(kRest);
      rested = true;
    });
    co_return (co_await search.Next()).status();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(rested);
}

TEST_F(WorkerSearchTest, BelievesOtherRoutesAtOnce) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    if (absl::Status lost = co_await CallOnce(search, Lost(false)); !lost.ok()) co_return lost;
    SetState("READY");  // and no time passes
    co_return (co_await search.Next()).status();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(WorkerSearchTest, LooksOnceMoreBeforeItGivesUpAfterALoss) {
  SetVersions("READY", "FAILED", kFingerprint);
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    if (absl::Status lost = co_await CallOnce(search, Lost(false)); !lost.ok()) co_return lost;
    SetState("FAILED");
    boost::asio::post(executor, [&] { SetState("READY"); });
    co_return (co_await search.Next()).status();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(WorkerSearchTest, EndsInTheWordsOfAWorkerThatAlwaysTurnsItAway) {
  int calls = 0;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    while (true) {
      absl::Status end = co_await CallOnce(search, TurnedAway());
      if (!end.ok()) co_return end;
      ++calls;
      boost::asio::post(executor, [&] { time_.Advance(upstream_.start_wait / 3); });
    }
  });
  EXPECT_EQ(status, TurnedAway().status);
  EXPECT_GT(calls, 1);
}

TEST_F(WorkerSearchTest, IsAnsweredByAWorkerThatTurnsItAwayWhileTheDaemonEnds) {
  upstream_.shutting_down = true;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    co_return co_await CallOnce(search, TurnedAway());
  });
  EXPECT_EQ(status, TurnedAway().status);
}

// As in the queue of a worker that drains before the request's turn.
TEST_F(WorkerSearchTest, TimeInAWorkersHandsDoesNotCountAsWaitingForOne) {
  for (const bool begun : {false, true}) {
    SetState("READY");
    const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
      WorkerSearch search(upstream_, Wanted(), executor);
      if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
      if (begun) search.Accepted(1, kFingerprint);
      time_.Advance(2 * std::max(upstream_.start_wait, upstream_.resume_wait));
      SetState("READY");
      if (auto end = search.AfterEnd(TurnedAway())) co_return *end;
      co_return (co_await search.Next()).status();
    });
    EXPECT_TRUE(status.ok()) << status << begun;
  }
}

TEST_F(WorkerSearchTest, TheTimeUntilAWorkerIsReachedCounts) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
    time_.Advance(upstream_.start_wait);
    if (auto end = search.AfterEnd(NotReached())) co_return *end;
    co_return (co_await search.Next()).status();
  });
  EXPECT_EQ(status, NotReached().status);
}

TEST_F(WorkerSearchTest, FitsOnlyVersionsWithTheSameBitsOnceItIsAccepted) {
  SetVersions("READY", "", "");
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    EXPECT_TRUE(search.GivesSameBits("fp_other"));
    if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
    search.Accepted(1, kFingerprint);
    EXPECT_TRUE(search.GivesSameBits(kFingerprint));
    EXPECT_FALSE(search.GivesSameBits("fp_other"));
    SetVersions("", "READY", kFingerprint);
    EXPECT_EQ(search.AfterEnd(Lost(true)), std::nullopt);
    auto second = co_await search.Next();
    if (!second.ok()) co_return second.status();
    EXPECT_EQ((*second)->address, address_ + ".2");
    SetVersions("", "READY", "fp_other");
    EXPECT_EQ(search.AfterOtherBits(), std::nullopt);
    boost::asio::post(executor, [&] {
      time_.Advance(kRest);
      SetVersions("", "READY", "fp_third");
    });
    co_return (co_await search.Next()).status();
  });
  EXPECT_THAT(MessageOf(status), testing::HasSubstr("answered is gone"));
}

TEST_F(WorkerSearchTest, TwoDeathsWhileItIsWorkedOnEndIt) {
  std::vector<bool> ends;
  WorkerSearch::Wanted wanted = Wanted();
  wanted.caller = "a";
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, wanted, executor);
    while (true) {
      auto worker = co_await search.Next();
      if (!worker.ok()) co_return worker.status();
      const auto end = search.AfterEnd(Lost(true));
      ends.push_back(end.has_value());
      if (end) co_return *end;
      SetState("READY");
    }
  });
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_EQ(ends, (std::vector<bool>{false, true}));
  const absl::Status again = Search(wanted, [](WorkerSearch&) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
}

TEST_F(WorkerSearchTest, OneThatWaitsIsNotToBlameAndOneThatGotFurtherIsForgiven) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    for (const bool waits : {true, true, false, false, false, false}) {
      if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
      waits ? search.Waits() : search.GotFurther();
      if (auto end = search.AfterEnd(Lost(true))) co_return *end;
      SetState("READY");
    }
    co_return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// Two that were both computed when their worker died.
TEST_F(WorkerSearchTest, SuspectsGoOnOneAfterTheOtherAndTheWaitTakesNoPatience) {
  std::vector<int> order;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch first(upstream_, Wanted(), executor), second(upstream_, Wanted(), executor);
    for (WorkerSearch* search : {&first, &second}) {
      if (absl::Status lost = co_await CallOnce(*search, Lost(true)); !lost.ok()) co_return lost;
    }
    SetState("READY");
    if (auto worker = co_await first.Next(); !worker.ok()) co_return worker.status();
    order.push_back(1);
    boost::asio::post(executor, [&] {
      time_.Advance(std::chrono::hours(1));
      order.push_back(2);
      first.GotFurther();
    });
    auto worker = co_await second.Next();
    order.push_back(3);
    co_return worker.status();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(gate_.TryEnter("chat")) << "is left";
}

// A call that gives no sign of progress: those behind it do not wait for its end.
TEST_F(WorkerSearchTest, ASuspectKeepsOthersFromTheirTurnForABoundedTime) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch::Wanted bounded = Wanted();
    bounded.longest_turn = milliseconds(1);
    WorkerSearch first(upstream_, bounded, executor), second(upstream_, Wanted(), executor);
    for (WorkerSearch* search : {&first, &second}) {
      if (absl::Status lost = co_await CallOnce(*search, Lost(true)); !lost.ok()) co_return lost;
    }
    SetState("READY");
    if (auto worker = co_await first.Next(); !worker.ok()) co_return worker.status();
    co_return (co_await second.Next()).status();  // the first has its worker still
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(gate_.TryEnter("chat")) << "is left";
}

TEST_F(WorkerSearchTest, TellsWhenItGoesOn) {
  std::vector<std::string> resumed;
  upstream_.on_resumed = [&](const std::string& model) { resumed.push_back(model); };
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    for (int i = 0; i < 3; ++i) {
      if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
      search.Accepted(1, kFingerprint);
      search.GotFurther();
      search.GotFurther();
      EXPECT_EQ(resumed.size(), static_cast<size_t>(i));
      EXPECT_EQ(search.AfterEnd(i == 0 ? Lost(true) : TurnedAway()), std::nullopt);
      SetState("READY");
    }
    co_return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(resumed, (std::vector<std::string>{"chat", "chat"}));
}

TEST_F(WorkerSearchTest, EndsEveryWaitFromOutside) {
  upstream_.ensure_loaded = [](std::string, Executor) -> Task<absl::Status> { co_return absl::OkStatus(); };
  const absl::Status gone = absl::CancelledError("gone");
  for (const char* state : {"LOADING", "UNLOADED"}) {
    SetState(state);
    EXPECT_EQ(Search(Wanted(), [&](WorkerSearch& search) { search.EndWith(gone); }), gone) << state;
  }
  for (const bool gated : {false, true}) {
    SetState("READY");
    const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
      WorkerSearch search(upstream_, Wanted(), executor);
      if (absl::Status lost = co_await CallOnce(search, Lost(true)); !lost.ok()) co_return lost;
      if (gated) {
        SetState("READY");
        EXPECT_TRUE(gate_.TryEnter("chat"));
      }
      boost::asio::post(executor, [&] { search.EndWith(gone); });
      co_return (co_await search.Next()).status();
    });
    EXPECT_EQ(status, gone) << (gated ? "gated" : "stale");
  }
  upstream_.running.EndAll(absl::UnavailableError("over"));
  EXPECT_EQ(Search(Wanted(), [](WorkerSearch&) {}), absl::UnavailableError("over")) << "one that comes later";
}

TEST_F(WorkerSearchTest, EndsTheCallFromOutside) {
  int cancelled = 0;
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    if (auto worker = co_await search.Next(); !worker.ok()) co_return worker.status();
    search.Calling([&] { ++cancelled; });
    search.EndWith(absl::CancelledError("gone"));
    search.EndWith(absl::UnavailableError("the first counts"));
    EXPECT_EQ(search.AfterEnd({.status = absl::CancelledError("by us")}), absl::CancelledError("gone"));
    co_return (co_await search.Next()).status();
  });
  EXPECT_EQ(status, absl::CancelledError("gone"));
  EXPECT_EQ(cancelled, 2);
}

TEST_F(WorkerSearchTest, SaysSoWhenACallEndsThatWasNotMade) {
  const absl::Status status = Do([&](Executor executor) -> Task<absl::Status> {
    WorkerSearch search(upstream_, Wanted(), executor);
    co_return search.AfterEnd(TurnedAway()).value_or(absl::OkStatus());
  });
  EXPECT_EQ(MessageOf(status), "the search for a worker met 'turned away' in the state 'no route'");
}

}  // namespace
}  // namespace inferd::gateway
