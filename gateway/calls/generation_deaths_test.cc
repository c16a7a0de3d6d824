// Generations whose workers die, or are withdrawn, in the middle.
#include <gmock/gmock.h>

#include "gateway/calls/generation.h"
#include "gateway/testing/generation_fixture.h"

namespace inferd::gateway {
namespace {

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
  std::future<Outcome> result = Run(Request("tokens=10 die_at=4 delay_us=20000"));
  stub.WaitForDeath();
  stub.Start();
  stub.WaitForDeath();
  stub.Start();
  Outcome outcome = result.get();
  EXPECT_TRUE(absl::IsInternal(outcome.status)) << outcome.status;
  EXPECT_EQ(outcome.text, Words(4));
  EXPECT_TRUE(absl::IsFailedPrecondition(Run(Request("tokens=10 die_at=4 delay_us=20000")).get().status));
  EXPECT_EQ(Run(Request("tokens=10")).get().text, Words(10));
  clock_.Advance(PoisonList::kRefusedFor);
  EXPECT_TRUE(poison_.Check(Request("tokens=10 die_at=4 delay_us=20000"), "").ok());
}

TEST_F(GenerationTest, OthersLikeTwoThatKilledAreRefusedToTheSameCallerAtOnce) {
  StubProcess stub(StubArguments());
  const auto deadly = [](int at) { return Request(fmt::format("tokens=10 die_at={} delay_us=20000", at)); };
  for (const int at : {4, 5}) {
    std::future<Outcome> result = Run(deadly(at), {.caller = "a"});
    for (int death = 0; death < 2; ++death) {
      stub.WaitForDeath();
      stub.Start();
    }
    EXPECT_TRUE(absl::IsInternal(result.get().status));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Run(deadly(6), {.caller = "a"}).get().status));  // and no worker dies
  EXPECT_EQ(Run(Request("tokens=3"), {.caller = "a"}).get().text, Words(3));
  EXPECT_TRUE(poison_.Check(deadly(6), "b").ok());
}

TEST_F(GenerationTest, WhatItGotFromAWorkerThatWasWithdrawnClearsItOfADeathBefore) {
  std::vector<std::string> arguments = StubArguments();
  StubProcess first(arguments);
  arguments.insert(arguments.end(), {"--withdraw-at", "3"});
  std::future<Outcome> result = Run(Request("tokens=10 die_at=3 delay_us=20000"));
  WaitForDeltas(1);
  first.Kill();
  StubProcess withdrawn(arguments);
  StubProcess last(SecondStubArguments(kFingerprint));
  WaitForDeltas(2);
  SetVersions("", "READY", kFingerprint);
  last.WaitForDeath();  // of this one alone it may be to blame
  last.Start();
  last.WaitForDeath();
  Outcome outcome = result.get();
  EXPECT_TRUE(absl::IsInternal(outcome.status)) << outcome.status;
  EXPECT_EQ(outcome.text, Words(3));
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

// As at a swap whose drain is over.
TEST_F(GenerationTest, GoesOnOnAVersionWithTheSameFingerprintWhenItsWorkerIsWithdrawn) {
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--withdraw-at", "20"});
  StubProcess old(arguments);
  StubProcess stub(SecondStubArguments(kFingerprint));
  for (uint32_t choices : {1u, 3u}) {
    SetVersions("READY", "", "");
    deltas_ = 0;
    std::future<Outcome> result = Run(Request("tokens=40 delay_us=5000", choices));
    WaitForDeltas(2);
    SetVersions("", "READY", kFingerprint);
    Outcome outcome = result.get();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.text, Words(40));
    EXPECT_EQ(outcome.accepted, 1);
    EXPECT_EQ(outcome.completion_tokens, 40 * choices);
  }
}

TEST_F(GenerationTest, IsToldThatItsWorkerIsWithdrawnWhereNoVersionGivesTheSameBits) {
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--withdraw-at", "20"});
  StubProcess old(arguments);
  StubProcess stub(SecondStubArguments("fp_other"));
  std::future<Outcome> result = Run(Request("tokens=40 delay_us=5000"));
  WaitForDeltas(2);
  SetVersions("", "READY", "fp_other");
  Outcome outcome = result.get();
  EXPECT_EQ(MessageOf(outcome.status), "the model is shutting down");
  EXPECT_TRUE(absl::IsUnavailable(outcome.status));
  EXPECT_EQ(outcome.text, Words(20));
}

TEST_F(GenerationTest, SaysWhyItEndsWhereItsWorkerIsGoneAndNoVersionGivesTheSameBits) {
  StubProcess old(StubArguments());
  StubProcess stub(SecondStubArguments("fp_other"));
  std::future<Outcome> result = Run(Request("tokens=40 delay_us=5000"));
  WaitForDeltas(2);
  SetVersions("", "READY", "fp_other");
  old.Kill();
  const Outcome outcome = result.get();
  EXPECT_THAT(MessageOf(outcome.status), testing::HasSubstr("answered is gone")) << outcome.status;
  EXPECT_TRUE(absl::IsUnavailable(outcome.status));
}

TEST_F(GenerationTest, WaitsForAVersionWithTheSameFingerprintThatIsComing) {
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--withdraw-at", "9"});
  StubProcess old(arguments);
  std::future<Outcome> result = Run(Request("tokens=12 delay_us=5000"));
  WaitForDeltas(2);
  SetVersions("", "BACKOFF", kFingerprint);
  old.Kill();
  StubProcess stub(SecondStubArguments(kFingerprint));
  SetVersions("", "READY", kFingerprint);
  EXPECT_EQ(result.get().text, Words(12));
}

TEST_F(GenerationTest, IsNotWithdrawnToAnotherWorkerWhileTheDaemonEnds) {
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--withdraw-at", "9"});
  StubProcess stub(arguments);
  std::future<Outcome> result = Run(Request("tokens=12 delay_us=5000"));
  WaitForDeltas(2);
  upstream_.shutting_down = true;
  EXPECT_EQ(MessageOf(result.get().status), "the model is shutting down");
}

// Its file was replaced while it was down, and the supervisor has yet to find out.
TEST_F(GenerationTest, DoesNotGoOnOnAWorkerThatGivesOtherBits) {
  std::future<Outcome> result;
  {
    StubProcess stub(StubArguments());
    result = Run(Request("tokens=60 delay_us=5000"));
    WaitForDeltas(7);
  }
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--fingerprint", "fp_other"});
  StubProcess other(arguments);
  EXPECT_TRUE(WaitForStats([](const v1::StatsResponse& stats) { return stats.rejections().at("cancelled") > 0; }));
  SetState("FAILED");
  Outcome outcome = result.get();
  EXPECT_TRUE(absl::IsUnavailable(outcome.status)) << outcome.status;
  EXPECT_EQ(Words(60).find(outcome.text), 0u);
}

TEST_F(GenerationTest, TimeInAWorkersHandsDoesNotCountAsWaitingForOne) {
  upstream_.start_wait = milliseconds(200);
  std::vector<std::string> arguments = StubArguments();
  arguments.insert(arguments.end(), {"--withdraw-at", "0"});
  StubProcess old(arguments);
  StubProcess stub(SecondStubArguments(kFingerprint));
  SetVersions("READY", "", "");
  std::future<Outcome> result = Run(Request("tokens=2 delay_us=400000"));
  EXPECT_TRUE(WaitForStats([](const v1::StatsResponse& stats) { return stats.requests_running() == 1; }));
  SetVersions("", "READY", kFingerprint);
  EXPECT_EQ(result.get().text, Words(2));
}

TEST_F(GenerationTest, ARequestThatWaitsInAQueueIsNotBlamedForDeaths) {
  for (const char* prompt : {"tokens=3 queued=1", "tokens=3 queued=unread"}) {
    std::future<Outcome> result;
    KillWhileItWaits(3, [&] { result = Run(Request(prompt)); });
    StubProcess stub(StubArguments());
    Outcome outcome = result.get();
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.text, Words(3));
    EXPECT_EQ(outcome.others, 0) << "what only we are told";
  }
}

// Before the worker computes anything: of its text, its template, its constraint.
TEST_F(GenerationTest, ARequestThatKillsWhileItIsReadIsRefusedAfterTwoDeaths) {
  StubProcess stub(StubArguments());
  std::vector<std::future<Outcome>> innocent;
  for (int i = 0; i < 4; ++i) innocent.push_back(Run(Request("tokens=100 delay_us=3000")));
  WaitForDeltas(8);
  std::future<Outcome> killer = Run(Request("die_reading=1"));
  for (int i = 0; i < 2; ++i) {
    stub.WaitForDeath();
    stub.Start();
  }
  EXPECT_TRUE(absl::IsInternal(killer.get().status));
  EXPECT_TRUE(absl::IsFailedPrecondition(Run(Request("die_reading=1")).get().status));
  for (auto& result : innocent) EXPECT_EQ(result.get().text, Words(100));
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

// Which may kill before it is known to be worked on.
TEST_F(GenerationTest, ARequestUnderWhichWorkersDieAgainAndAgainEndsSomeTime) {
  std::future<Outcome> result;
  KillWhileItWaits(4, [&] { result = Run(Request("tokens=3 queued=1")); });
  EXPECT_TRUE(absl::IsInternal(result.get().status));
  EXPECT_FALSE(poison_.Check(Request("tokens=3 queued=1"), "").ok());
}

TEST_F(GenerationTest, TheInnocentBesideAKillerGoOn) {
  StubProcess stub(StubArguments());
  std::vector<std::future<Outcome>> innocent;
  for (int i = 0; i < 8; ++i) innocent.push_back(Run(Request("tokens=300 delay_us=3000")));
  WaitForDeltas(20);
  std::future<Outcome> killer = Run(Request("tokens=10 die_at=2 delay_us=20000"));
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

}  // namespace
}  // namespace inferd::gateway
