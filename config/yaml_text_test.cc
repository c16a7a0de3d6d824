#include "config/yaml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <string>

#include "config/base/status.h"

namespace inferd::config {
namespace {

using testing::HasSubstr;

std::string Written(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << content;
  return path;
}

std::string ErrorOf(const std::string& path) { return std::string(MessageOf(ReadSmallFile(path).status())); }

TEST(ReadSmallFile, ReadsAllOfAFile) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(ReadSmallFile(Written("all.yaml", text)).value(), text);
  EXPECT_EQ(ReadSmallFile(Written("empty.yaml", "")).value(), "");
}

TEST(ReadSmallFile, NamesWhatItCannotRead) {
  EXPECT_EQ(ErrorOf("/nowhere/a.yaml"), "/nowhere/a.yaml: No such file or directory");
  EXPECT_EQ(ErrorOf(testing::TempDir()), testing::TempDir() + ": Is a directory");
}

TEST(ReadSmallFile, EndsWhereAFileNeverDoes) {
  EXPECT_THAT(ErrorOf("/dev/zero"), HasSubstr("/dev/zero: larger than"));
  const std::string pipe = testing::TempDir() + "pipe.yaml";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadSmallFile(pipe).value(), "");  // nobody writes there
}

TEST(LoadSingleDocument, RefusesASecond) {
  EXPECT_EQ(LoadSingleDocument("a: 1\n---\n")["a"].as<int>(), 1);
  EXPECT_TRUE(LoadSingleDocument("").IsNull());
  EXPECT_THROW(LoadSingleDocument("a: 1\n---\nb: 2\n"), YAML::Exception);
  EXPECT_THROW(LoadSingleDocument("a: [\n"), YAML::Exception);
}

// Which yaml-cpp takes for documents without end.
TEST(LoadSingleDocument, EndsWithWhatIsNoYaml) {
  EXPECT_THROW(
      LoadSingleDocument(
          ",f0, grpc:\233\233\233\233\233\233\233'\233iliseys:,f0, grpc:\233\233\233\233\233\233\233'\233\233\233"),
      YAML::Exception);
}

}  // namespace
}  // namespace inferd::config
