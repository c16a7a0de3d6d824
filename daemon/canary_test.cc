#include "daemon/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/testing/fake_processes.h"
#include "inferd/v1/admin.pb.h"

namespace inferd::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(RollbackCondition, IsAnErrorRate) {
  EXPECT_EQ(ParseRollbackCondition("error_rate>0.05")->error_rate, 0.05);
  EXPECT_EQ(ParseRollbackCondition(" error_rate > 0.5 ")->text, "error_rate>0.5");
  for (const char* text : {"", "error_rate", "error_rate>", "error_rate>1", "error_rate>0", "error_rate>-0.1",
                           "error_rate<0.1", "latency>0.1", "error_rate>nan", "error_rate>0.1x"}) {
    EXPECT_FALSE(ParseRollbackCondition(text).ok()) << text;
  }
}

class CanaryTest : public testing::Test {
 protected:
  CanaryTest() {
    config::ModelOptions options;
    options.name = "chat";
    options.aliases = {"alias"};
    Model& added = fleet.AddModel(options);
    for (const uint32_t weight : {100u, 0u}) {
      ModelVersion& version = fleet.AddVersion(added, options, {});
      fleet.Route(version, weight);
      fleet.Start(version);
    }
    model = &added;
  }
  void SetTraffic(uint32_t first, uint32_t second) {
    former = WeightsOf(*model);
    fleet.Route(*model->Find(1), first);
    fleet.Route(*model->Find(2), second);
  }
  absl::Status Begin() {
    return canaries.Begin("alias", former, ParseRollbackCondition("error_rate>0.1").value(), seconds(10));
  }
  v1::StatusResponse Status() const {
    v1::StatusResponse status;
    canaries.FillStatus(status);
    return status;
  }

  FakeProcesses fake;
  Fleet fleet{fake.loop(), fake,
              [this](const config::ModelOptions& options, uint64_t version) {
                return fake.Plan(options.name + "@" + std::to_string(version));
              },
              [] {}};
  CanaryWatch canaries{fake.loop(), fleet};
  Model* model = nullptr;
  TrafficWeights former;
};

TEST_F(CanaryTest, GivesTheFormerWeightsBackWhenTheConditionComesTrue) {
  SetTraffic(90, 10);
  ASSERT_TRUE(Begin().ok());
  canaries.Report("chat", 1, 1000, 1000);  // the old version is not judged
  canaries.Report("chat", 2, 19, 2);       // too few yet
  EXPECT_THAT(WeightsOf(*model), ElementsAre(Pair(1, 90), Pair(2, 10)));
  ASSERT_EQ(Status().canaries_size(), 1);
  EXPECT_EQ(Status().canaries(0).requests(), 19u);
  canaries.Report("chat", 2, 1, 1);
  EXPECT_THAT(WeightsOf(*model), ElementsAre(Pair(1, 100), Pair(2, 0)));
  EXPECT_EQ(Status().canaries_size(), 0);
  EXPECT_EQ(Status().rollbacks(), 1u);
  EXPECT_EQ(Status().last_rollback(), "chat: error_rate>0.1: 3 of 20 requests failed");
}

TEST_F(CanaryTest, JudgesByTheWindowAlone) {
  SetTraffic(50, 50);
  ASSERT_TRUE(Begin().ok());
  canaries.Report("chat", 2, 19, 5);
  fake.Advance(seconds(11));
  canaries.Report("chat", 2, 50, 5);  // 10 %, which is not above
  EXPECT_THAT(WeightsOf(*model), ElementsAre(Pair(1, 50), Pair(2, 50)));
  canaries.Report("chat", 2, 1, 1);
  EXPECT_THAT(WeightsOf(*model), ElementsAre(Pair(1, 100), Pair(2, 0)));
}

TEST_F(CanaryTest, AsManyReportsAsOneMessageHoldsAreCounted) {
  SetTraffic(50, 50);
  ASSERT_TRUE(Begin().ok());
  constexpr int kReports = 500'000;  // of 4 MiB; adding all up again for each would take minutes
  for (int i = 0; i < kReports; ++i) canaries.Report("chat", 2, 10, 1);
  EXPECT_EQ(Status().canaries(0).requests(), 10u * kReports);
  EXPECT_EQ(Status().canaries(0).errors(), 1u * kReports);
  fake.Advance(seconds(11));
  canaries.Report("chat", 2, 1, 0);
  EXPECT_EQ(Status().canaries(0).requests(), 1u);
}

TEST_F(CanaryTest, NumbersBeyondAllReasonDoNotStartAgainAtZero) {
  SetTraffic(50, 50);
  ASSERT_TRUE(Begin().ok());
  canaries.Report("chat", 2, UINT64_MAX, 0);
  canaries.Report("chat", 2, UINT64_MAX, 0);
  EXPECT_EQ(Status().canaries(0).requests(), 1'000'000'000'000u);
}

TEST_F(CanaryTest, AVersionThatFailsIsTakenOut) {
  SetTraffic(90, 10);
  ASSERT_TRUE(Begin().ok());
  canaries.Check();
  EXPECT_EQ(Status().canaries_size(), 1);
  fleet.OnExit(model->Find(2)->process->pid(), ExitedWith(3));
  canaries.Check();
  EXPECT_THAT(WeightsOf(*model), ElementsAre(Pair(1, 100), Pair(2, 0)));
  EXPECT_THAT(Status().last_rollback(), HasSubstr("version 2 failed: exited with code 3"));
}

TEST_F(CanaryTest, EndsWithItsVersionOrAnotherChange) {
  SetTraffic(90, 10);
  ASSERT_TRUE(Begin().ok());
  fleet.Unroute(*model->Find(2));
  canaries.Check();
  EXPECT_EQ(Status().canaries_size(), 0);
  EXPECT_EQ(Status().rollbacks(), 0u);
  canaries.Report("chat", 2, 100, 100);
  EXPECT_EQ(Status().rollbacks(), 0u);
}

TEST_F(CanaryTest, NeedsAVersionWithMoreTraffic) {
  SetTraffic(100, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(Begin()));
}

}  // namespace
}  // namespace inferd::daemon
