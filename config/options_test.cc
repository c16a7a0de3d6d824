#include "config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/source_folder.h"
#include "config/load.h"
#include "config/yaml_text.h"

namespace inferd::config {
namespace {

using testing::HasSubstr;

struct SeenOption {
  std::string path, name, help;
  bool in_range = true;
};

// All options with their paths; whether the default is in the range.
class Collector : public OptionVisitor {
 public:
  explicit Collector(std::string prefix, std::vector<SeenOption>& out) : prefix_(std::move(prefix)), out_(out) {}

  void Text(const Option& option, std::string&, Presence) override { Add(option); }
  void TextList(const Option& option, std::vector<std::string>&) override { Add(option); }
  void Number(const Option& option, uint32_t& value, Range range) override { Add(option, value, range); }
  void Bytes(const Option& option, uint64_t& value, Range range) override { Add(option, value, range); }
  void Duration(const Option& option, Milliseconds& value, Range range) override {
    Add(option, static_cast<uint64_t>(value.count()), range);
  }
  void Place(const Option& option, Address&) override { Add(option); }
  void Choice(const Option& option, int& value, std::span<const std::string_view> names) override {
    Add(option, static_cast<uint64_t>(value), {0, names.size() - 1});
  }
  void Section(const Option& option, const std::function<void(OptionVisitor&)>& visit) override {
    Add(option);
    Collector inner(out_.back().path + ".", out_);
    visit(inner);
  }
  void Sections(const Option& option, SectionList& list, Presence) override {
    Add(option);
    if (list.size() == 0) list.Append();
    Collector inner(out_.back().path + "[].", out_);
    list.Visit(0, inner);
  }

 private:
  void Add(const Option& option) {
    out_.push_back({.path = prefix_ + std::string(option.name),
                    .name = std::string(option.name),
                    .help = std::string(option.help)});
  }
  void Add(const Option& option, uint64_t value, Range range) {
    Add(option);
    out_.back().in_range = value >= range.min && value <= range.max;
  }

  const std::string prefix_;
  std::vector<SeenOption>& out_;
};

std::vector<SeenOption> AllOptions() {
  Config config;
  std::vector<SeenOption> options;
  Collector collector("", options);
  VisitOptions(config, collector);
  return options;
}

TEST(Options, HaveHelpAndADefaultInTheirRange) {
  const std::vector<SeenOption> options = AllOptions();
  EXPECT_GT(options.size(), 60u);
  for (const SeenOption& option : options) {
    EXPECT_GT(option.help.size(), 10u) << option.path;
    EXPECT_TRUE(option.in_range) << option.path;
  }
}

TEST(Options, AreAllInTheSample) {
  const std::string sample = ReadSmallFile((SourceFolder() / "config/inferd.yaml").string()).value();
  for (const SeenOption& option : AllOptions()) EXPECT_THAT(sample, HasSubstr(option.name + ":")) << option.path;
}

TEST(Options, AreAllInTheReference) {
  const std::string reference = PrintOptionReference();
  for (const SeenOption& option : AllOptions()) {
    EXPECT_THAT(reference, HasSubstr(option.name + ":")) << option.path;
    EXPECT_THAT(reference, HasSubstr(option.help)) << option.path;
  }
}

}  // namespace
}  // namespace inferd::config
