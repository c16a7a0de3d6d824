#include "daemon/ctl/status_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

#include "inferd/v1/admin.pb.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::StatusResponse Sample() {
  v1::StatusResponse status;
  status.set_version("1.2.3");
  status.set_state("ready");
  status.set_started_unix_seconds(1'000'000);
  status.set_reloads_ok(uint64_t{1} << 40);
  v1::WorkerStatus& worker = *status.add_workers();
  worker.set_model("chat");
  worker.set_version(3);
  worker.set_state("BACKOFF");
  worker.set_backoff_ms(250);
  worker.set_last_error("killed\x1b[31m by\r signal 9");
  worker.set_path("/m/chat.gguf");
  worker.set_file_change("replaced");
  worker.add_aliases("default");
  (*worker.mutable_exits())["signal"] = 2;
  v1::CanaryStatus& canary = *status.add_canaries();
  canary.set_rollback_on("error_rate>0.05");
  canary.add_versions(4);
  return status;
}

TEST(StatusJson, NumbersAreNumbersAndEveryFieldIsThere) {
  const auto json = boost::json::parse(StatusJson(Sample()));
  EXPECT_EQ(json.at("reloads_ok").to_number<uint64_t>(), uint64_t{1} << 40);
  const auto& worker = json.at("workers").as_array().at(0);
  EXPECT_EQ(worker.at("version").to_number<int>(), 3);
  EXPECT_EQ(worker.at("restarts").to_number<int>(), 0);
  EXPECT_EQ(worker.at("aliases").as_array().at(0).as_string(), "default");
  EXPECT_EQ(worker.at("exits").at("signal").to_number<int>(), 2);
  EXPECT_EQ(json.at("canaries").as_array().at(0).at("versions").as_array().at(0).to_number<int>(), 4);
  EXPECT_EQ(json.at("gateway").at("state").as_string(), "");
}

TEST(StatusTable, ShowsStatesAgesAndErrors) {
  const std::string text = StatusTable(Sample(), std::chrono::system_clock::from_time_t(1'000'000 + 2 * 3600 + 60));
  EXPECT_THAT(text, HasSubstr("inferd 1.2.3  ready"));
  EXPECT_THAT(text, HasSubstr("up 2h 1m"));
  EXPECT_THAT(text, HasSubstr("BACKOFF 250 ms"));
  EXPECT_THAT(text, HasSubstr("chat@3: killed"));
  EXPECT_THAT(text, HasSubstr("chat@3: /m/chat.gguf is replaced"));
}

TEST(StatusTable, TimesThatCannotBeAreTheNearestThatCan) {
  const WallTime now = std::chrono::system_clock::from_time_t(2 * 86400);
  v1::StatusResponse status;
  status.set_started_unix_seconds(std::numeric_limits<int64_t>::min());
  EXPECT_THAT(StatusTable(status, now), HasSubstr("up 2d 0h"));
  status.set_started_unix_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(StatusTable(status, now), HasSubstr("up 0s"));
}

TEST(StatusTable, OneLongNameDoesNotWidenAllRows) {
  v1::StatusResponse status;
  status.add_workers()->set_model(std::string(100'000, 'x'));
  for (int i = 0; i < 1000; ++i) status.add_workers()->set_model("m");
  EXPECT_LT(StatusTable(status, std::chrono::system_clock::from_time_t(1)).size(), 1'000'000u);
}

TEST(StatusTable, CannotDriveTheTerminal) {
  const std::string text = StatusTable(Sample(), WallTime());
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(ModelsTable, SaysWhenThereAreNone) {
  EXPECT_EQ(ModelsTable({}), "no models\n");
  v1::ListModelsResponse models;
  v1::ModelInfo& model = *models.add_models();
  model.set_name("chat");
  model.set_parameters(134'515'008);
  model.set_size_bytes(98 << 20);
  EXPECT_THAT(ModelsTable(models), HasSubstr("135M"));
  EXPECT_THAT(ModelsTable(models), HasSubstr("98 MiB"));
  models.mutable_models(0)->clear_parameters();
  models.mutable_models(0)->clear_size_bytes();
  models.mutable_models(0)->set_state("FAILED");
  EXPECT_THAT(ModelsTable(models), testing::Not(HasSubstr("0M")));
  EXPECT_THAT(ModelsTable(models), testing::Not(HasSubstr("MiB")));
}

}  // namespace
}  // namespace inferd::daemon
