#include "daemon/models_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/base/status.h"
#include "daemon/reload.h"

namespace inferd::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ModelsDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/inner.gguf");
  }
  void Write(const std::string& name) { std::ofstream(folder_ + "/" + name) << "GGUF"; }
  std::vector<std::string> Names(const std::vector<config::ModelOptions>& models) {
    std::vector<std::string> names;
    for (const config::ModelOptions& model : models) names.push_back(model.name);
    return names;
  }

  const std::string folder_ = (std::filesystem::path(testing::TempDir()) / "models_directory_test").lexically_normal();
};

TEST_F(ModelsDirectory, GivesEachFileItsName) {
  std::filesystem::remove_all(folder_ + "/inner.gguf");
  for (const char* name : {"b-Q4_K_M.gguf", "a.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf",
                           "my model.gguf", "notes.txt", ".hidden.gguf", "x-00001-of-2.gguf"}) {
    Write(name);
  }
  std::vector<config::ModelOptions> models;
  ASSERT_EQ(AddModelsOf(folder_, models), absl::OkStatus());
  EXPECT_THAT(Names(models), ElementsAre("a", "b-Q4_K_M", "big", "my-model", "x-00001-of-2"));
  EXPECT_EQ(models[2].path, folder_ + "/big-00001-of-00002.gguf");
  EXPECT_FALSE(models[0].preload);
}

TEST_F(ModelsDirectory, LeavesFilesToModelsThatHaveThem) {
  std::filesystem::remove_all(folder_ + "/inner.gguf");
  Write("a.gguf");
  Write("b.gguf");
  std::vector<config::ModelOptions> models(1);
  models[0].name = "mine";
  models[0].path = folder_ + "/../models_directory_test/a.gguf";
  ASSERT_EQ(AddModelsOf(folder_ + "/", models), absl::OkStatus());
  EXPECT_THAT(Names(models), ElementsAre("mine", "b"));
}

TEST_F(ModelsDirectory, NamesWhoseNameIsTaken) {
  Write("a.gguf");
  std::vector<config::ModelOptions> models(1);
  models[0].name = "m";
  models[0].aliases = {"a"};
  EXPECT_THAT(std::string(MessageOf(AddModelsOf(folder_, models))),
              HasSubstr("models_directory: a.gguf: its name a is that of an alias of m"));
  Write("a b.gguf");
  Write("a-b.gguf");
  models.clear();
  EXPECT_THAT(std::string(MessageOf(AddModelsOf(folder_, models))),
              HasSubstr("a-b.gguf: its name a-b is that of a b.gguf"));
}

TEST_F(ModelsDirectory, IsReadWithTheConfiguration) {
  std::filesystem::remove_all(folder_ + "/inner.gguf");
  const std::string file = folder_ + "/inferd.yaml";
  std::ofstream(file) << "models_directory: .\n";
  auto config = LoadIdentifiedConfig(file);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->config.models.empty());
  Write("a.gguf");
  config = LoadIdentifiedConfig(file);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->models.count("a"), 1u);
  const auto look_inside = [](const config::Config&, const config::ModelOptions&) {
    return absl::InvalidArgumentError("magic");
  };
  EXPECT_THAT(std::string(MessageOf(LoadIdentifiedConfig(file, look_inside).status())),
              HasSubstr("inferd.yaml:1: model a: magic"));
  std::ofstream(file) << "\nmodels_directory: gone\n";
  const absl::Status gone = LoadIdentifiedConfig(file).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(MessageOf(gone)),
              HasSubstr("inferd.yaml:2: models_directory: " + folder_ + "/gone: No such"));
}

}  // namespace
}  // namespace inferd::daemon
