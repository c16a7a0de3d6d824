#include "daemon/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "config/base/status.h"
#include "config/load.h"

namespace inferd::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kBefore[] = R"(
models:
  - {name: a, path: /m/a.gguf, aliases: [x]}
  - {name: b, path: /m/b.gguf}
)";

IdentifiedConfig Identified(const std::string& yaml, uint64_t size_of_a = 1) {
  IdentifiedConfig out{.config = config::ParseConfig(yaml, "/etc/inferd.yaml").value()};
  for (const auto& model : out.config.models) {
    out.models[model.name].size_bytes = model.name == "a" ? size_of_a : 1;
  }
  return out;
}

RunningState Running(const std::string& yaml) {
  const IdentifiedConfig now = Identified(yaml);
  RunningState running{.config = now.config};
  for (const auto& model : now.config.models) running.models[model.name] = {model, now.models.at(model.name)};
  return running;
}

struct Case {
  const char* rule;
  const char* after;
  std::vector<std::string> changes;
  std::vector<std::string> starts;
  std::vector<std::string> removes;
  bool replaces_gateway = false;
};

class PlanReloadCases : public testing::TestWithParam<Case> {};

TEST_P(PlanReloadCases, ChangesWhatDiffersAndNothingElse) {
  const auto plan = PlanReload(Running(kBefore), Identified(GetParam().after));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->changes, GetParam().changes);
  std::vector<std::string> starts;
  for (const StartVersion& start : plan->rollout.starts) starts.push_back(start.options.name);
  EXPECT_EQ(starts, GetParam().starts);
  EXPECT_EQ(plan->rollout.removes, GetParam().removes);
  EXPECT_EQ(plan->replace_gateway, GetParam().replaces_gateway);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PlanReloadCases,
    testing::Values(
        Case{"Nothing", kBefore},
        Case{"Added",
             "models: [{name: a, path: /m/a.gguf, aliases: [x]}, {name: b, path: /m/b.gguf}, {name: c, path: /m/c}]",
             {"c: added"},
             {"c"}},
        Case{"Removed", "models: [{name: a, path: /m/a.gguf, aliases: [x]}]", {"b: removed"}, {}, {"b"}},
        Case{"OtherPath",
             "models: [{name: a, path: /m/a2.gguf, aliases: [x]}, {name: b, path: /m/b.gguf}]",
             {"a: swapped to /m/a2.gguf"},
             {"a"}},
        Case{"OtherOption",
             "models: [{name: a, path: /m/a.gguf, aliases: [x], context: 5}, {name: b, path: /m/b.gguf}]",
             {"a: replaced, its options changed"},
             {"a"}},
        Case{"AliasOnly",
             "models: [{name: a, path: /m/a.gguf, aliases: [y]}, {name: b, path: /m/b.gguf}]",
             {"a: aliases changed"}},
        Case{"WhenItIsLoaded",
             "models: [{name: a, path: /m/a.gguf, aliases: [x], pinned: true}, {name: b, path: /m/b.gguf, preload: "
             "false, idle_unload: 1h}]",
             {"a: preload, idle_unload, pinned or on_file_change changed",
              "b: preload, idle_unload, pinned or on_file_change changed"}},
        Case{"AddedForLater",
             "models: [{name: a, path: /m/a.gguf, aliases: [x]}, {name: b, path: /m/b.gguf}, {name: c, path: /m/c, "
             "preload: false}]",
             {"c: added"},
             {"c"}},
        Case{"OtherKernels",
             "instruction_set: reference\nmodels: [{name: a, path: /m/a.gguf, aliases: [x]}, {name: b, path: "
             "/m/b.gguf}]",
             {"a: replaced, instruction_set changed", "b: replaced, instruction_set changed"},
             {"a", "b"}},
        Case{"GatewayLimits",
             "limits: {body: 1MiB}\nmodels: [{name: a, path: /m/a.gguf, aliases: [x]}, {name: b, path: /m/b.gguf}]",
             {"gateway: replaced, auth, limits, log or load_wait changed"},
             {},
             {},
             true},
        Case{"SupervisorAlone",
             "supervisor: {drain: 1s}\nmodels: [{name: a, path: /m/a.gguf, aliases: [x]}, {name: b, path: /m/b.gguf}]",
             {"supervisor: load_timeout, watchdog, drain, memory_budget or restart changed"}}),
    [](const auto& info) { return std::string(info.param.rule); });

TEST(PlanReload, ChangedFileIsSwapped) {
  const auto plan = PlanReload(Running(kBefore), Identified(kBefore, /*size_of_a=*/2));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->changes, ElementsAre("a: swapped, the file changed"));
  EXPECT_EQ(plan->rollout.starts.front().file.size_bytes, 2u);
}

TEST(PlanReload, StartsNothingForAModelThatIsUnloadedAndStaysSo) {
  const std::string unloaded = "models: [{name: a, path: /m/a.gguf, preload: false}, {name: b, path: /m/b.gguf}]";
  RunningState running = Running(unloaded);
  for (const bool was_unloaded : {true, false}) {
    running.models["a"].unloaded = was_unloaded;
    const auto plan = PlanReload(running, Identified(unloaded, /*size_of_a=*/2));
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(plan->rollout.starts.size(), 1u);
    EXPECT_EQ(plan->rollout.starts[0].unloaded, was_unloaded);
  }
}

TEST(PlanReload, FailedModelIsTriedAgain) {
  RunningState running = Running(kBefore);
  running.models["b"].failed = true;
  const auto plan = PlanReload(running, Identified(kBefore));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->retries, ElementsAre("b"));
  EXPECT_THAT(plan->rollout.starts, IsEmpty());
}

TEST(PlanReload, FailedGatewayIsTriedAgain) {
  RunningState running = Running(kBefore);
  running.gateway_failed = true;
  const auto plan = PlanReload(running, Identified(kBefore));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->replace_gateway);
  EXPECT_THAT(plan->changes, ElementsAre("gateway: had failed, started again"));
}

TEST(PlanReload, DrainComesFromTheNewConfiguration) {
  const auto plan = PlanReload(Running(kBefore), Identified(std::string("supervisor: {drain: 7s}\n") + kBefore));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rollout.drain, Milliseconds(7000));
}

TEST(PlanReload, RefusesWhatNeedsARestartOfTheDaemon) {
  for (const char* change : {"listen: {http: 127.0.0.1:1}", "listen: {grpc: 127.0.0.1:1}", "listen: {admin: unix:/a}",
                             "run_directory: /elsewhere"}) {
    const auto plan = PlanReload(Running(kBefore), Identified(std::string(change) + "\n" + kBefore));
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kFailedPrecondition) << change;
    EXPECT_THAT(std::string(MessageOf(plan.status())), HasSubstr("without a restart"));
  }
}

TEST(PlanReload, APortThatTheSystemChoseIsNoChange) {
  RunningState running = Running(std::string("listen: {http: 127.0.0.1:0}\n") + kBefore);
  running.config.listen.http.port = 40123;
  const auto plan = PlanReload(running, Identified(std::string("listen: {http: 127.0.0.1:0}\n") + kBefore));
  EXPECT_TRUE(plan.ok()) << plan.status();
}

TEST(LoadIdentifiedConfig, NamesTheModelWhoseFileIsMissing) {
  const std::string file = testing::TempDir() + "/reload_test.yaml";
  std::ofstream(file) << "models:\n- name: here\n  path: " << file << "\n- name: gone\n  path: /nowhere/gone.gguf\n";
  const auto config = LoadIdentifiedConfig(file);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(MessageOf(config.status())),
              HasSubstr("reload_test.yaml:5: model gone: /nowhere/gone.gguf: No such file"));
}

TEST(LoadIdentifiedConfig, NamesTheModelWhoseFileIsNoModel) {
  const std::string file = testing::TempDir() + "/reload_test.yaml";
  std::ofstream(file) << "models:\n- name: text\n  path: " << file << "\n";
  EXPECT_TRUE(LoadIdentifiedConfig(file).ok()) << "a worker will say so";
  const auto look_inside = [](const config::Config&, const config::ModelOptions& model) {
    return CheckModelFiles(model);
  };
  const auto config = LoadIdentifiedConfig(file, look_inside);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(MessageOf(config.status())),
              HasSubstr("reload_test.yaml:3: model text: " + file + ": is no GGUF file"));
}

TEST(LoadIdentifiedConfig, NamesTheLineOfTheOptionAtFault) {
  const std::string file = testing::TempDir() + "/reload_test.yaml";
  std::ofstream(file) << "models:\n- name: other\n  path: " << file << "\n- name: text\n  path: " << file
                      << "\n  kv_cache:\n    bytes: 1MiB\n  speculation:\n    kind: draft\n    draft_path: /nowhere\n";
  EXPECT_THAT(std::string(MessageOf(LoadIdentifiedConfig(file).status())),
              HasSubstr("reload_test.yaml:10: model text: speculation.draft_path: /nowhere: No such file"));
  std::ofstream(file) << "models:\n- name: text\n  kv_cache:\n    bytes: 1MiB\n  path: " << file << "\n";
  for (const auto& [field, place] : {std::pair("kv_cache.bytes", "reload_test.yaml:4: model text: kv_cache.bytes: bad"),
                                     std::pair("overflow_keep", "reload_test.yaml:5: model text: overflow_keep: bad"),
                                     std::pair("", "reload_test.yaml:5: model text: bad")}) {
    const auto config = LoadIdentifiedConfig(
        file, [&](const config::Config&, const config::ModelOptions&) { return InvalidField(field, "bad"); });
    EXPECT_THAT(std::string(MessageOf(config.status())), HasSubstr(place));
  }
}

}  // namespace
}  // namespace inferd::daemon
