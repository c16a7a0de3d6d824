#include "daemon/ctl/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void Add(v1::StatusResponse& status, const std::string& model, uint64_t version, const std::string& state) {
  v1::WorkerStatus& worker = *status.add_workers();
  worker.set_model(model);
  worker.set_version(version);
  worker.set_state(state);
  worker.add_aliases(model + "-alias");
}

TEST(Progress, TellsEachChangeOfTheModelOnce) {
  Progress progress("chat");
  v1::StatusResponse status;
  Add(status, "chat", 1, "READY");
  Add(status, "other", 1, "LOADING");
  EXPECT_THAT(progress.Changes(status), IsEmpty()) << "how it was before";
  Add(status, "chat", 2, "STARTING");
  EXPECT_THAT(progress.Changes(status), ElementsAre("chat@2: STARTING"));
  EXPECT_THAT(progress.Changes(status), IsEmpty());
  status.mutable_workers(1)->set_state("READY");
  status.mutable_workers(2)->set_state("LOADING");
  status.mutable_workers(2)->set_load_progress(0.5);
  EXPECT_THAT(progress.Changes(status), ElementsAre("chat@2: LOADING 50 %"));
  status.mutable_workers(0)->set_state("DRAINING");
  status.mutable_workers(2)->set_state("READY");
  EXPECT_THAT(progress.Changes(status), ElementsAre("chat@1: DRAINING", "chat@2: READY"));
  status.mutable_workers()->DeleteSubrange(0, 1);
  EXPECT_THAT(progress.Changes(status), ElementsAre("chat@1: gone"));
}

TEST(Progress, SaysWhyOneFailed) {
  Progress progress("chat-alias");
  v1::StatusResponse status;
  progress.Changes(status);
  Add(status, "chat", 3, "FAILED");
  status.mutable_workers(0)->set_last_error("model chat: file is truncated");
  EXPECT_THAT(progress.Changes(status), ElementsAre("chat@3: FAILED, model chat: file is truncated"));
}

TEST(Progress, WithoutANameIsOfAll) {
  Progress progress("");
  v1::StatusResponse status;
  progress.Changes(status);
  Add(status, "a", 1, "DRAINING");
  Add(status, "b", 1, "DRAINING");
  EXPECT_THAT(progress.Changes(status), ElementsAre("a@1: DRAINING", "b@1: DRAINING"));
}

}  // namespace
}  // namespace inferd::daemon
