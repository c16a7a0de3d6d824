// Generations against stub workers, whose routes a test sets.
//
//   TEST_F(GenerationTest, GoesOn) {
//     StubProcess stub(StubArguments());
//     std::future<Outcome> result = Run(Request("tokens=60"));
//     EXPECT_EQ(result.get().text, Words(60));
//   }
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/base/status.h"
#include "gateway/async/io_pool.h"
#include "gateway/calls/generation_set.h"
#include "gateway/routing/poison_list.h"
#include "gateway/routing/resume_gate.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/routing/worker_pool.h"
#include "gateway/testing/stub_process.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::gateway {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Outcome {
  std::string text;
  int accepted = 0;
  int others = 0;  // events of no kind that a client knows
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
    for (const char* name : {"/w.sock", "/w.sock.2"}) unlink((folder_ + name).c_str());
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
    version->set_fingerprint(kFingerprint);
    routes_.Update(std::make_shared<const RouteTable>(snapshot));
  }

  // Version 1, and another one in the state `second` at the address with ".2" behind; empty: there is none.
  void SetVersions(const std::string& first, const std::string& second, const std::string& second_fingerprint) {
    v1::RouteSnapshot snapshot;
    snapshot.set_revision(++revision_);
    v1::Route* route = snapshot.add_routes();
    route->set_model("chat");
    for (const std::string* state : {&first, &second}) {
      if (state->empty()) continue;
      v1::RouteVersion* version = route->add_versions();
      version->set_version(state == &first ? 1 : 2);
      version->set_weight(100);
      version->set_address(state == &first ? address_ : address_ + ".2");
      version->set_state(*state);
      version->set_fingerprint(state == &first ? kFingerprint : second_fingerprint);
    }
    routes_.Update(std::make_shared<const RouteTable>(snapshot));
  }

  std::vector<std::string> SecondStubArguments(const std::string& fingerprint) {
    return {"--listen", address_ + ".2", "--model", "chat", "--version", "2", "--fingerprint", fingerprint};
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
        outcome.others += !event.has_accepted() && !event.has_delta() && !event.has_finished();
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

  // Asks the first version's worker until its answer is so; false: it never is.
  bool WaitForStats(const std::function<bool(const v1::StatsResponse&)>& condition) {
    const auto worker = v1::Worker::NewStub(MakeChannel(address_));
    const auto end = steady_clock::now() + seconds(20);
    v1::StatsResponse stats;
    while (steady_clock::now() < end) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      if (worker->Stats(&context, {}, &stats).ok() && condition(stats)) return true;
    }
    return false;
  }

  // Started to hold what is "queued", so often killed in the middle.
  void KillWhileItWaits(int times, const std::function<void()>& start) {
    std::vector<std::string> arguments = StubArguments();
    arguments.insert(arguments.end(), {"--hold-queue", "yes"});
    for (int i = 0; i < times; ++i) {
      StubProcess stub(arguments);
      if (i == 0) start();
      ASSERT_TRUE(WaitForStats([](const v1::StatsResponse& stats) { return stats.requests_waiting() == 1; }));
    }
  }

  static constexpr char kFingerprint[] = "fp_0123456789abcdef";

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
  Upstream upstream_{routes_, workers_, poison_, gate_};
  std::atomic<int> deltas_{0};
  std::atomic<int> cancel_at_{0};
  IoPool pool_{2};
};

}  // namespace inferd::gateway
