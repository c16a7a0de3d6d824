#include "daemon/file_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/base/status.h"

namespace inferd::daemon {
namespace {

using testing::HasSubstr;

class FileIdentityTest : public testing::Test {
 protected:
  FileIdentityTest() {
    char path[] = "/tmp/inferd-identity-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    folder = path;
  }
  ~FileIdentityTest() override { std::filesystem::remove_all(folder); }
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder + "/" + name) << content;
    return folder + "/" + name;
  }

  std::string folder;
};

TEST_F(FileIdentityTest, IsTheSameUntilTheFileChanges) {
  const std::string path = Write("a.gguf", "one");
  const FileIdentity before = IdentifyFile(path).value();
  EXPECT_EQ(before.size_bytes, 3u);
  EXPECT_EQ(IdentifyFile(path).value(), before);
  Write("b.gguf", "one");
  std::filesystem::rename(folder + "/b.gguf", path);
  EXPECT_NE(IdentifyFile(path).value(), before);
}

TEST_F(FileIdentityTest, OfAModelInPartsIsOfAllOfThem) {
  const std::string first = Write("m-00001-of-00003.gguf", "1");
  Write("m-00002-of-00003.gguf", "22");
  const absl::Status missing = IdentifyFile(first).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(MessageOf(missing)), HasSubstr("m-00003-of-00003.gguf"));
  const std::string last = Write("m-00003-of-00003.gguf", "333");
  const FileIdentity before = IdentifyFile(first).value();
  EXPECT_EQ(before.size_bytes, 6u);
  EXPECT_EQ(IdentifyFile(first).value(), before);
  // The same size, at a time set back: told by the content.
  const auto time = std::filesystem::last_write_time(last);
  Write("m-00003-of-00003.gguf", "334");
  std::filesystem::last_write_time(last, time);
  EXPECT_NE(IdentifyFile(first).value(), before);
}

TEST_F(FileIdentityTest, OfAModelWithADraftIsOfBoth) {
  config::ModelOptions model;
  model.path = Write("model.gguf", "1");
  model.speculation.draft_path = Write("draft.gguf", "22");
  const FileIdentity alone = IdentifyModel(model).value();
  EXPECT_EQ(alone, IdentifyFile(model.path).value()) << "speculation is off";
  model.speculation.kind = config::SpeculationKind::kDraft;
  const FileIdentity both = IdentifyModel(model).value();
  EXPECT_EQ(both.size_bytes, 1u);
  EXPECT_EQ(both.all_bytes(), 3u);
  EXPECT_NE(both, alone);
  EXPECT_EQ(IdentifyModel(model).value(), both);
  // As large as before, at a time set back.
  const auto time = std::filesystem::last_write_time(model.speculation.draft_path);
  Write("draft.gguf", "23");
  std::filesystem::last_write_time(model.speculation.draft_path, time);
  EXPECT_NE(IdentifyModel(model).value(), both);
  model.speculation.draft_path = folder + "/none.gguf";
  const absl::Status missing = IdentifyModel(model).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(MessageOf(missing)), HasSubstr("speculation.draft_path"));
}

TEST_F(FileIdentityTest, OfAModelWithATemplateIsOfBoth) {
  config::ModelOptions model;
  model.path = Write("model.gguf", "1");
  const FileIdentity alone = IdentifyModel(model).value();
  model.chat_template_file = Write("mine.jinja", "22");
  const FileIdentity both = IdentifyModel(model).value();
  EXPECT_NE(both, alone);
  EXPECT_EQ(both.all_bytes(), alone.all_bytes()) << "a template is not mapped";
  Write("mine.jinja", "23");
  EXPECT_NE(IdentifyModel(model).value(), both);
  model.chat_template_file = folder + "/none.jinja";
  EXPECT_THAT(std::string(MessageOf(IdentifyModel(model).status())),
              HasSubstr("chat_template_file: " + folder + "/none.jinja"));
}

TEST_F(FileIdentityTest, TakesOtherNamesForOneFile) {
  for (const char* name : {"m-00002-of-00003.gguf", "m-00001-of-3.gguf", "m-00001-of-0000x.gguf", "-of-.gguf",
                           "m-00001-of-00003.bin", ".gguf", "m-00001-of-00000.gguf"}) {
    EXPECT_EQ(IdentifyFile(Write(name, "1"))->size_bytes, 1u) << name;
  }
}

TEST_F(FileIdentityTest, RefusesWhatIsNoFile) {
  EXPECT_TRUE(absl::IsInvalidArgument(IdentifyFile(folder).status()));
  EXPECT_TRUE(absl::IsNotFound(IdentifyFile(folder + "/none").status()));
}

TEST_F(FileIdentityTest, TellsFilesThatAreNoModels) {
  config::ModelOptions model;
  model.path = Write("m-00001-of-00002.gguf", "GGUF and more");
  const std::string second = Write("m-00002-of-00002.gguf", "GGUF");
  EXPECT_TRUE(CheckModelFiles(model).ok());
  for (const char* content : {"", "GGU", "gguf", "FUGG...", "<html>"}) {
    Write("m-00002-of-00002.gguf", content);
    EXPECT_EQ(MessageOf(CheckModelFiles(model)), second + ": is no GGUF file, it does not begin with \"GGUF\"");
  }
  Write("m-00002-of-00002.gguf", "GGUF");
  model.speculation = {.kind = config::SpeculationKind::kDraft, .draft_path = Write("draft.gguf", "?")};
  EXPECT_THAT(std::string(MessageOf(CheckModelFiles(model))),
              HasSubstr("speculation.draft_path: " + folder + "/draft.gguf"));
}

TEST_F(FileIdentityTest, SeesThatAProgramIsAnotherFile) {
  const std::string program = Write("program", "one");
  const absl::StatusOr<FileIdentity> started = IdentifyFile(program);
  ASSERT_TRUE(started.ok());
  EXPECT_FALSE(IsAnotherFile(*started, program));
  std::filesystem::rename(Write("new", "two"), program);
  EXPECT_TRUE(IsAnotherFile(*started, program));
  EXPECT_FALSE(IsAnotherFile(*started, folder + "/none"));
  EXPECT_FALSE(IsAnotherFile(FileIdentity(), program));  // nothing was started
}

}  // namespace
}  // namespace inferd::daemon
