// The service Admin over its socket, with a real supervisor behind it and scripted workers.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "config/base/status.h"
#include "daemon/testing/test_daemon.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace inferd::daemon {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr char kSettings[] = "supervisor: {restart: {first_delay: 10ms, max_delay: 20ms, max: 3}, drain: 1s}";

class AdminServerTest : public testing::Test {
 protected:
  AdminServerTest() : daemon({{"chat", "fingerprint one\nrequests 2"}, {"other", ""}}, kSettings) {
    daemon.Start();
    daemon.WaitUntilReady();
  }

  // Of one call; its answer goes to `response`.
  template <typename Method, typename Request, typename Response>
  grpc::Status Call(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return (daemon.admin().*method)(&context, request, &response);
  }

  grpc::Status SetTraffic(std::map<uint64_t, uint32_t> weights, const std::string& rollback_on = "") {
    v1::SetTrafficRequest request;
    request.set_model("chat");
    request.set_rollback_on(rollback_on);
    request.mutable_weights()->insert(weights.begin(), weights.end());
    return Call(&v1::Admin::Stub::SetTraffic, request, traffic);
  }

  TestDaemon daemon;
  v1::SetTrafficResponse traffic;
};

TEST_F(AdminServerTest, StatusTellsOfEachWorkerAndOfTheGateway) {
  v1::StatusResponse status;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Status, v1::StatusRequest(), status).ok());
  EXPECT_EQ(status.pid(), daemon.pid());
  EXPECT_EQ(status.state(), "ready");
  EXPECT_EQ(status.config_path(), daemon.Path("inferd.yaml"));
  EXPECT_EQ(status.gateway().state(), "READY");
  ASSERT_EQ(status.workers_size(), 2);
  EXPECT_EQ(WorkerOf(status, "chat").fingerprint(), "one");
  EXPECT_EQ(WorkerOf(status, "chat").address(), "unix:" + daemon.Path("run/w/chat-1.sock"));
  EXPECT_GT(WorkerOf(status, "chat").state_since_unix_milliseconds(), status.started_unix_seconds() * 1000 - 1000);
}

TEST_F(AdminServerTest, TheSocketIsForTheOwnerAlone) {
  struct stat socket {};
  ASSERT_EQ(stat(daemon.Path("run/admin.sock").c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600u);
}

TEST_F(AdminServerTest, AnswersHealthOnItsPort) {
  const auto channel = grpc::CreateChannel("unix:" + daemon.Path("run/admin.sock"), grpc::InsecureChannelCredentials());
  const auto health = grpc::health::v1::Health::NewStub(channel);
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(health->Check(&context, {}, &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

TEST_F(AdminServerTest, ADryRunOfALoadOrSwapTellsThePlanAndChangesNothing) {
  v1::SwapRequest request;
  request.set_model("chat");
  request.set_dry_run(true);
  v1::SwapResponse swap;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Swap, request, swap).ok());
  EXPECT_TRUE(swap.plan().fits());
  EXPECT_TRUE(swap.plan().weights_shared());
  EXPECT_THAT(swap.plan().explanation(), HasSubstr("chat: weights"));
  EXPECT_EQ(swap.old_version(), 1u);
  EXPECT_EQ(swap.new_version(), 0u);

  daemon.WriteFile("next", "fingerprint two\n");
  v1::LoadRequest load;
  load.set_model("new");
  load.set_path(daemon.Path("next"));
  load.set_dry_run(true);
  v1::LoadResponse loaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Load, load, loaded).ok());
  EXPECT_FALSE(loaded.plan().weights_shared());
  v1::StatusResponse status;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Status, v1::StatusRequest(), status).ok());
  EXPECT_EQ(status.workers_size(), 2);
}

TEST_F(AdminServerTest, TrafficGoesToVersionsThatAreReadyAlone) {
  daemon.WriteFile("next", "fingerprint two\n");
  v1::LoadRequest load;
  load.set_model("chat");
  load.set_path(daemon.Path("next"));
  v1::LoadResponse loaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Load, load, loaded).ok());
  EXPECT_EQ(loaded.worker().version(), 2u);
  EXPECT_EQ(loaded.worker().fingerprint(), "two");
  v1::StatusResponse before;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Status, v1::StatusRequest(), before).ok());
  EXPECT_TRUE(SetTraffic({{1, 90}, {2, 10}}).ok());
  EXPECT_GT(traffic.route_revision(), before.route_revision());
  EXPECT_EQ(SetTraffic({{1, 90}, {7, 10}}).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(SetTraffic({{1, 101}}).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SetTraffic({{1, 0}}).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SetTraffic({{1, 50}}, "latency>5").error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(AdminServerTest, TheVersionWithAllTheTrafficIsNotUnloadedAlone) {
  daemon.WriteFile("next", "fingerprint two\n");
  v1::LoadRequest load;
  load.set_model("other");
  load.set_path(daemon.Path("next"));
  v1::LoadResponse loaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Load, load, loaded).ok());
  v1::UnloadRequest unload;
  unload.set_model("other");
  unload.set_version(1);
  v1::UnloadResponse unloaded;
  const grpc::Status refused = Call(&v1::Admin::Stub::Unload, unload, unloaded);
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(refused.error_message(),
            "version 1 has all requests of model \"other\": give them to another version before");
  unload.set_version(2);  // it has none of them
  EXPECT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
  unload.set_version(1);  // the last one
  EXPECT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
  daemon.WaitFor("one worker", [](const auto& now) { return now.workers_size() == 1; });
}

TEST_F(AdminServerTest, ADrainedModelComesBackWithAllItsVersions) {
  daemon.WriteFile("next", "fingerprint two\n");
  v1::LoadRequest load;
  load.set_model("other");
  load.set_path(daemon.Path("next"));
  v1::LoadResponse loaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Load, load, loaded).ok());
  v1::DrainRequest drain;
  drain.set_model("other");
  v1::DrainResponse drained;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Drain, drain, drained).ok());
  load.clear_path();
  ASSERT_TRUE(Call(&v1::Admin::Stub::Load, load, loaded).ok());
  EXPECT_EQ(loaded.worker().version(), 2u);
  v1::SetTrafficRequest both;
  both.set_model("other");
  (*both.mutable_weights())[1] = 50;
  (*both.mutable_weights())[2] = 50;
  EXPECT_TRUE(Call(&v1::Admin::Stub::SetTraffic, both, traffic).ok());
}

TEST_F(AdminServerTest, RequestsThatDoNotEndInTimeAreCounted) {
  v1::DrainRequest request;
  request.set_model("chat");
  request.set_deadline_ms(300);
  v1::DrainResponse drained;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Drain, request, drained).ok());
  EXPECT_EQ(drained.unfinished(), 2u);
  request.set_model("other");
  ASSERT_TRUE(Call(&v1::Admin::Stub::Drain, request, drained).ok());
  EXPECT_EQ(drained.unfinished(), 0u);
  v1::UnloadRequest unload;
  unload.set_model("other");
  v1::UnloadResponse unloaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
  const auto status = daemon.WaitFor("one worker", [](const auto& now) { return now.workers_size() == 1; });
  EXPECT_EQ(status.workers(0).model(), "chat");
}

TEST_F(AdminServerTest, NamesAModelThatIsNotThere) {
  v1::UnloadRequest unload;
  unload.set_model("nobody");
  v1::UnloadResponse unloaded;
  const grpc::Status status = Call(&v1::Admin::Stub::Unload, unload, unloaded);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no model \"nobody\" is running");
  v1::EnsureLoadedRequest wish;
  wish.set_model("nobody");
  v1::EnsureLoadedResponse wished;
  EXPECT_EQ(Call(&v1::Admin::Stub::EnsureLoaded, wish, wished).error_code(), StatusCode::NOT_FOUND);
  // A gateway may report of what is gone by now.
  v1::ReportOutcomesRequest outcomes;
  outcomes.add_outcomes()->set_model("nobody");
  v1::ReportOutcomesResponse reported;
  EXPECT_TRUE(Call(&v1::Admin::Stub::ReportOutcomes, outcomes, reported).ok());
}

TEST_F(AdminServerTest, ANameThatNoModelMayHaveIsRefusedBeforeAnythingStarts) {
  daemon.WriteFile("next", "fingerprint two\n");
  for (const char* name : {"", "a b", "a\n", "caf\xC3\xA9"}) {
    v1::LoadRequest load;
    load.set_model(name);
    load.set_path(daemon.Path("next"));
    v1::LoadResponse loaded;
    const grpc::Status status = Call(&v1::Admin::Stub::Load, load, loaded);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(std::string("model: \"") + name + "\" is not a model name"));
  }
}

TEST_F(AdminServerTest, AWatcherOfRoutesSeesEachChangeInOrder) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const auto stream = daemon.admin().WatchRoutes(&context);
  ASSERT_TRUE(stream->Write({}));
  v1::RouteSnapshot snapshot;
  ASSERT_TRUE(stream->Read(&snapshot));
  std::vector<std::string> models;
  for (const v1::Route& route : snapshot.routes()) models.push_back(route.model());
  EXPECT_THAT(models, UnorderedElementsAre("chat", "other"));
  v1::UnloadRequest unload;
  unload.set_model("other");
  v1::UnloadResponse unloaded;
  ASSERT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
  const uint64_t before = snapshot.revision();
  ASSERT_TRUE(stream->Read(&snapshot));
  EXPECT_GT(snapshot.revision(), before);
  EXPECT_EQ(snapshot.routes_size(), 1);
  context.TryCancel();
}

// A gateway of the test: it routes by the tables that it is given, and says so when it is told to.
class Watcher {
 public:
  explicit Watcher(const TestDaemon& daemon) : stream_(daemon.admin().WatchRoutes(&context_)) {
    v1::WatchRoutesRequest opening;
    opening.set_applies(true);
    EXPECT_TRUE(stream_->Write(opening));
  }
  ~Watcher() { context_.TryCancel(); }

  v1::RouteSnapshot Next() {
    v1::RouteSnapshot snapshot;
    EXPECT_TRUE(stream_->Read(&snapshot));
    return snapshot;
  }
  void Confirm(uint64_t revision) {
    v1::WatchRoutesRequest told;
    told.set_applied_revision(revision);
    EXPECT_TRUE(stream_->Write(told));
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WatchRoutesRequest, v1::RouteSnapshot>> stream_;
};

TEST_F(AdminServerTest, AChangeIsAnsweredOnceTheGatewayRoutesByIt) {
  Watcher watcher(daemon);
  watcher.Confirm(watcher.Next().revision());
  absl::Notification answered;
  std::thread caller([&] {
    v1::UnloadRequest unload;
    unload.set_model("other");
    v1::UnloadResponse unloaded;
    EXPECT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
    answered.Notify();
  });
  uint64_t revision = 0;
  for (v1::RouteSnapshot snapshot; revision == 0;) {
    snapshot = watcher.Next();
    if (snapshot.routes_size() == 1 && snapshot.routes(0).versions_size() == 1) revision = snapshot.revision();
  }
  EXPECT_FALSE(answered.WaitForNotificationWithTimeout(absl::Milliseconds(200)));
  watcher.Confirm(revision);
  caller.join();
}

TEST_F(AdminServerTest, AGatewayThatConfirmsNothingDoesNotHoldAChangeUp) {
  Watcher watcher(daemon);
  v1::UnloadRequest unload;
  unload.set_model("other");
  v1::UnloadResponse unloaded;
  EXPECT_TRUE(Call(&v1::Admin::Stub::Unload, unload, unloaded).ok());
}

}  // namespace
}  // namespace inferd::daemon
