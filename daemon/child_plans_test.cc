#include "daemon/child_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "daemon/testing/fake_processes.h"

namespace inferd::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr char kConfig[] = R"(
listen: {admin_tcp: 127.0.0.1:7}
admin_tls: {certificate: a.pem, key: a.key, client_ca: ca.pem}
run_directory: /tmp/run
auth: {keys_file: /etc/keys.yaml}
supervisor: {watchdog: 7s}
models:
  - {name: a, path: /m/a.gguf, cpus: "1-2", nice: 3, memory_limit: 2GiB}
  - {name: b, path: /m/b.gguf}
)";

class ChildPlansTest : public testing::Test {
 protected:
  FakeProcesses fake;
  config::Config config = config::ParseConfig(kConfig, "/etc/inferd.yaml").value();
};

TEST_F(ChildPlansTest, AWorkerGetsItsModelAlone) {
  config::ModelOptions swapped = config.models[0];
  swapped.path = "/m/other.gguf";
  const ProcessPlan plan = PlanWorker(fake.loop(), config, "/bin/inferd", swapped, 4);
  EXPECT_EQ(plan.name, "worker a@4");
  EXPECT_EQ(plan.spec.program, "/bin/inferd/inferd-worker");
  EXPECT_EQ(plan.socket_path, "/tmp/run/w/a-4.sock");
  EXPECT_THAT(plan.spec.arguments,
              ElementsAre("--model", "a", "--model-version", "4", "--listen", "unix:/tmp/run/w/a-4.sock"));
  const config::Config told = config::ParseConfig(plan.spec.config_yaml, "/x").value();
  ASSERT_EQ(told.models.size(), 1u);
  EXPECT_EQ(told.models[0].path, "/m/other.gguf");
  // But for the models it is the daemon's own.
  config::Config expected = config;
  expected.models = told.models;
  EXPECT_EQ(config::PrintConfig(told), config::PrintConfig(expected));
  EXPECT_TRUE(plan.watch_progress);
  EXPECT_EQ(plan.options.watchdog, std::chrono::seconds(7));
}

TEST_F(ChildPlansTest, AWorkerGetsTheResourcesOfItsModel) {
  const ProcessSpec limited = PlanWorker(fake.loop(), config, "/bin", config.models[0], 1).spec;
  EXPECT_THAT(limited.cpus, ElementsAre(1u, 2u));
  EXPECT_EQ(limited.nice, 3);
  EXPECT_EQ(limited.memory_limit_bytes, uint64_t{2} << 30);
  const ProcessSpec free = PlanWorker(fake.loop(), config, "/bin", config.models[1], 1).spec;
  EXPECT_TRUE(free.cpus.empty());
  EXPECT_EQ(free.nice, 0);
  EXPECT_EQ(free.memory_limit_bytes, 0u);
}

TEST_F(ChildPlansTest, TheGatewayGetsTheSocketsAndANameOfItsOwn) {
  const ProcessPlan first = PlanGateway(fake.loop(), config, "/bin", {.http_fd = 5, .grpc_fd = 6}, 1);
  const ProcessPlan second = PlanGateway(fake.loop(), config, "/bin", {.http_fd = 5, .grpc_fd = 6}, 2);
  EXPECT_EQ(first.spec.program, GatewayProgram("/bin"));
  EXPECT_THAT(first.spec.descriptors, ElementsAre(Pair("--http-fd", 5), Pair("--grpc-fd", 6)));
  EXPECT_THAT(first.spec.arguments, Contains("unix:/tmp/run/admin.sock"));
  EXPECT_NE(second.spec.arguments, first.spec.arguments);
  EXPECT_THAT(first.spec.config_yaml, HasSubstr("/etc/keys.yaml"));
  EXPECT_FALSE(first.watch_progress);
}

TEST_F(ChildPlansTest, WorkersEndFirstWhenMemoryRunsOut) {
  const int worker = PlanWorker(fake.loop(), config, "/bin", config.models[0], 1).spec.oom_score;
  const int gateway = PlanGateway(fake.loop(), config, "/bin", {}, 1).spec.oom_score;
  EXPECT_GT(worker, gateway);
  EXPECT_GT(gateway, 0);
}

}  // namespace
}  // namespace inferd::daemon
