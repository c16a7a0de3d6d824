// Two visitors of the option table that write YAML: effective values, and the reference for people.
#include <yaml-cpp/yaml.h>

#include "config/base/status.h"
#include "config/load.h"
#include "config/options.h"
#include "config/units.h"

namespace inferd::config {
namespace {

class YamlPrinter : public OptionVisitor {
 public:
  explicit YamlPrinter(YAML::Emitter& out) : out_(out) {}

  void Text(const Option& option, std::string& value, Presence) override { Quoted(option, value); }
  void TextList(const Option& option, std::vector<std::string>& value) override {
    out_ << YAML::Key << std::string(option.name) << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const std::string& text : value) out_ << YAML::DoubleQuoted << text;
    out_ << YAML::EndSeq;
  }
  void Number(const Option& option, uint32_t& value, Range) override { Plain(option, std::to_string(value)); }
  void Bytes(const Option& option, uint64_t& value, Range) override { Plain(option, FormatByteSize(value)); }
  void Duration(const Option& option, Milliseconds& value, Range) override { Plain(option, FormatDuration(value)); }
  void Place(const Option& option, Address& value) override {
    if (value != Address()) Quoted(option, value.ToString());
  }
  void Choice(const Option& option, int& value, std::span<const std::string_view> names) override {
    Plain(option, std::string(names[static_cast<size_t>(value)]));
  }
  void Section(const Option& option, const std::function<void(OptionVisitor&)>& visit) override {
    out_ << YAML::Key << std::string(option.name) << YAML::Value << YAML::BeginMap;
    visit(*this);
    out_ << YAML::EndMap;
  }
  void Sections(const Option& option, SectionList& list, Presence) override {
    out_ << YAML::Key << std::string(option.name) << YAML::Value << YAML::BeginSeq;
    for (size_t i = 0; i < list.size(); ++i) {
      out_ << YAML::BeginMap;
      list.Visit(i, *this);
      out_ << YAML::EndMap;
    }
    out_ << YAML::EndSeq;
  }

 private:
  void Plain(const Option& option, const std::string& value) {
    out_ << YAML::Key << std::string(option.name) << YAML::Value << value;
  }
  // Quoted so that a name such as "null" or "~" stays text.
  void Quoted(const Option& option, const std::string& value) {
    out_ << YAML::Key << std::string(option.name) << YAML::Value << YAML::DoubleQuoted << value;
  }

  YAML::Emitter& out_;
};

// "# help" and "key: default   # range" lines.
class ReferencePrinter : public OptionVisitor {
 public:
  explicit ReferencePrinter(std::string& out, int depth) : out_(out), indent_(static_cast<size_t>(depth) * 2, ' ') {}

  void Text(const Option& option, std::string& value, Presence presence) override {
    Line(option, fmt::format("\"{}\"", value), presence == Presence::kRequired ? "text, required" : "text");
  }
  void TextList(const Option& option, std::vector<std::string>&) override { Line(option, "[]", "list of texts"); }
  void Number(const Option& option, uint32_t& value, Range range) override {
    Line(option, std::to_string(value), fmt::format("{}..{}", range.min, range.max));
  }
  void Bytes(const Option& option, uint64_t& value, Range range) override {
    Line(option, FormatByteSize(value), fmt::format("{}..{}", FormatByteSize(range.min), FormatByteSize(range.max)));
  }
  void Duration(const Option& option, Milliseconds& value, Range range) override {
    Line(option, FormatDuration(value),
         fmt::format("{}..{}", FormatDuration(Milliseconds(range.min)), FormatDuration(Milliseconds(range.max))));
  }
  void Place(const Option& option, Address& value) override {
    Line(option, value == Address() ? "" : value.ToString(), "address");
  }
  void Choice(const Option& option, int& value, std::span<const std::string_view> names) override {
    Line(option, names[static_cast<size_t>(value)], fmt::format("{}", fmt::join(names.begin(), names.end(), ", ")));
  }
  void Section(const Option& option, const std::function<void(OptionVisitor&)>& visit) override {
    out_ += fmt::format("{0}# {1}\n{0}{2}:\n", indent_, option.help, option.name);
    ReferencePrinter inner(out_, static_cast<int>(indent_.size() / 2) + 1);
    visit(inner);
  }
  void Sections(const Option& option, SectionList& list, Presence) override {
    out_ += fmt::format("{0}# {1} A list; of each element:\n{0}{2}:\n", indent_, option.help, option.name);
    if (list.size() == 0) list.Append();
    ReferencePrinter inner(out_, static_cast<int>(indent_.size() / 2) + 1);
    list.Visit(0, inner);
  }

 private:
  void Line(const Option& option, std::string_view value, std::string_view range) {
    out_ += fmt::format("{0}# {1} ({2})\n{0}{3}: {4}\n", indent_, option.help, range, option.name, value);
  }

  std::string& out_;
  const std::string indent_;
};

}  // namespace

std::string PrintConfig(const Config& config) {
  Config copy = config;  // the table gives writable references
  YAML::Emitter out;
  out << YAML::BeginMap;
  YamlPrinter printer(out);
  VisitOptions(copy, printer);
  out << YAML::EndMap;
  CHECK(out.good());
  return std::string(out.c_str(), out.size()) + "\n";
}

std::string PrintOptionReference() {
  Config defaults;
  std::string out;
  ReferencePrinter printer(out, /*depth=*/0);
  VisitOptions(defaults, printer);
  return out;
}

}  // namespace inferd::config
