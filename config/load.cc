// A visitor of the option table that takes values out of a parsed YAML file.
// Exceptions of the yaml-cpp library end here.
#include "config/load.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "config/base/status.h"
#include "config/environment.h"
#include "config/options.h"
#include "config/units.h"
#include "config/yaml_text.h"

namespace inferd::config {
namespace {

// The error nearest to the start of the file, wherever the table asks for its option.
class FirstError {
 public:
  explicit FirstError(std::string file) : file_(std::move(file)) {}

  void Add(const YAML::Mark& mark, std::string_view key, std::string_view message) {
    const int line = std::max(mark.line, 0) + 1;
    if (!status_.ok() && line_ <= line) return;
    line_ = line;
    status_ = InvalidArgument("{}:{}: {}{}{}", file_, line, key, key.empty() ? "" : ": ", message);
  }
  const absl::Status& status() const { return status_; }

  // A key that has to be there; less to the point than whatever is wrong with those that are.
  void AddMissing(const YAML::Mark& mark, std::string_view key, std::string_view message) {
    missing_ = InvalidArgument("{}:{}: {}: {}", file_, std::max(mark.line, 0) + 1, key, message);
  }
  const absl::Status& missing() const { return missing_; }

  // Remembers where the value of an option stands, for errors of rules between options.
  void Locate(std::string key, const YAML::Mark& mark) { lines_[std::move(key)] = mark.line + 1; }
  const OptionLines& lines() const { return lines_; }
  // With the file before it, and the line of the option at fault where the file has it.
  absl::Status AtItsLine(const absl::Status& status) const {
    const auto line = lines_.find(FieldOf(status));
    return Annotate(status, line == lines_.end() ? file_ : fmt::format("{}:{}", file_, line->second));
  }

 private:
  const std::string file_;
  OptionLines lines_;
  int line_ = 0;
  absl::Status status_;
  absl::Status missing_;
};

std::string_view KindOf(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Null:
      return "nothing";
    case YAML::NodeType::Scalar:
      return "a value";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a section";
    case YAML::NodeType::Undefined:
      break;
  }
  return "nothing";
}

std::string Join(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
}

class YamlReader : public OptionVisitor {
 public:
  // `node` is the section at `path` ("" for the whole file).
  YamlReader(const YAML::Node& node, std::string path, FirstError& error) : path_(std::move(path)), error_(error) {
    mark_ = node.Mark();
    if (node.IsNull()) return;
    if (!node.IsMap()) {
      error_.Add(mark_, path_, fmt::format("{}, expected a section of keys", KindOf(node)));
      return;
    }
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) {
        error_.Add(entry.first.Mark(), path_, "a key that is not a word");
      } else if (!entries_.emplace(entry.first.Scalar(), Entry{entry.first.Mark(), entry.second}).second) {
        error_.Add(entry.first.Mark(), Path(entry.first.Scalar()), "key is there twice");
      }
    }
  }

  // After all options: what is left in the section is unknown.
  void RefuseUnknown() {
    for (const auto& [key, entry] : entries_) {
      if (!known_.contains(key)) {
        error_.Add(entry.key_mark, Path(key), fmt::format("unknown key, expected one of {}", fmt::join(known_, ", ")));
      }
    }
  }

  void Text(const Option& option, std::string& value, Presence presence) override {
    const YAML::Node* node = Find(option);
    if (node == nullptr && presence == Presence::kRequired)
      error_.Add(mark_, Path(option.name), "required key is missing");
    if (const auto text = Scalar(option, node)) value = *text;
  }

  void TextList(const Option& option, std::vector<std::string>& value) override {
    const YAML::Node* node = Find(option);
    if (node == nullptr) return;
    if (!node->IsSequence()) return Fail(option, *node, fmt::format("{}, expected a list", KindOf(*node)));
    value.clear();
    for (const auto& element : *node) {
      if (!element.IsScalar()) return Fail(option, element, "an element that is not text");
      error_.Locate(fmt::format("{}[{}]", Path(option.name), value.size()), element.Mark());
      value.push_back(element.Scalar());
    }
  }

  void Number(const Option& option, uint32_t& value, Range range) override {
    Take(option, value, ParseWholeNumber, range, [](uint64_t n) { return std::to_string(n); });
  }
  void Bytes(const Option& option, uint64_t& value, Range range) override {
    Take(option, value, ParseByteSize, range, FormatByteSize);
  }
  void Duration(const Option& option, Milliseconds& value, Range range) override {
    const auto parse = [](std::string_view text) -> absl::StatusOr<uint64_t> {
      ASSIGN_OR_RETURN(const Milliseconds duration, ParseDuration(text));
      return static_cast<uint64_t>(duration.count());
    };
    uint64_t count = static_cast<uint64_t>(value.count());
    Take(option, count, parse, range, [](uint64_t n) { return FormatDuration(Milliseconds(n)); });
    value = Milliseconds(count);
  }

  void Place(const Option& option, Address& value) override {
    const YAML::Node* node = Find(option);
    const auto text = Scalar(option, node);
    if (!text) return;
    const absl::StatusOr<Address> address = ParseAddress(*text);
    if (!address.ok()) return Fail(option, *node, MessageOf(address.status()));
    value = *address;
  }

  void Choice(const Option& option, int& value, std::span<const std::string_view> names) override {
    const YAML::Node* node = Find(option);
    const auto text = Scalar(option, node);
    if (!text) return;
    const auto found = std::find(names.begin(), names.end(), *text);
    if (found == names.end()) return Fail(option, *node, fmt::format("\"{}\" is not one of {}", *text, Join(names)));
    value = static_cast<int>(found - names.begin());
  }

  void Section(const Option& option, const std::function<void(OptionVisitor&)>& visit) override {
    const YAML::Node* node = Find(option);
    if (node == nullptr) return;
    YamlReader section(*node, Path(option.name), error_);
    visit(section);
    section.RefuseUnknown();
  }

  void Sections(const Option& option, SectionList& list, Presence presence) override {
    const YAML::Node* node = Find(option);
    if (node == nullptr && presence == Presence::kRequired) {
      error_.AddMissing(mark_, Path(option.name), "required key is missing ([] for an empty list)");
    }
    if (node == nullptr || (node->IsNull() && presence == Presence::kOptional)) return;
    if (!node->IsSequence()) return Fail(option, *node, fmt::format("{}, expected a list", KindOf(*node)));
    for (size_t i = 0; i < node->size(); ++i) {
      list.Append();
      YamlReader element((*node)[i], fmt::format("{}[{}]", Path(option.name), i), error_);
      list.Visit(i, element);
      element.RefuseUnknown();
    }
  }

 private:
  struct Entry {
    YAML::Mark key_mark;
    YAML::Node value;
  };

  std::string Path(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  void Fail(const Option& option, const YAML::Node& node, std::string_view message) {
    // yaml-cpp puts a missing value on the line after its key.
    const YAML::Mark mark = node.IsNull() ? entries_.at(std::string(option.name)).key_mark : node.Mark();
    error_.Add(mark, Path(option.name), message);
  }

  // Null if the section does not have the key.
  const YAML::Node* Find(const Option& option) {
    known_.emplace(option.name);
    const auto found = entries_.find(std::string(option.name));
    if (found == entries_.end()) return nullptr;
    error_.Locate(Path(option.name), found->second.value.Mark());
    return &found->second.value;
  }

  // The text of a value; none if the key is missing or, with an error, not a value.
  std::optional<std::string> Scalar(const Option& option, const YAML::Node* node) {
    if (node == nullptr) return std::nullopt;
    if (node->IsScalar()) return node->Scalar();
    Fail(option, *node, fmt::format("{}, expected a value", KindOf(*node)));
    return std::nullopt;
  }

  template <typename Value, typename Parse, typename Format>
  void Take(const Option& option, Value& value, Parse parse, Range range, Format format) {
    const YAML::Node* node = Find(option);
    const auto text = Scalar(option, node);
    if (!text) return;
    const absl::StatusOr<uint64_t> number = parse(*text);
    if (!number.ok()) return Fail(option, *node, MessageOf(number.status()));
    if (*number < range.min || *number > range.max) {
      return Fail(option, *node, fmt::format("{} is out of range {}..{}", *text, format(range.min), format(range.max)));
    }
    value = static_cast<Value>(*number);
  }

  std::string path_;
  FirstError& error_;
  YAML::Mark mark_;
  std::map<std::string, Entry> entries_;
  std::set<std::string> known_;
};

// What a line begins with, lines counted from 0.
std::string_view Indentation(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_not_of(" \t"));
}

void ReadOptions(std::string_view text, Config& config, FirstError& error) {
  try {
    YamlReader reader(LoadSingleDocument(std::string(text)), "", error);
    VisitOptions(config, reader);
    reader.RefuseUnknown();
  } catch (const YAML::DeepRecursion& exception) {
    error.Add(exception.mark, "", "nested too deeply");
  } catch (const YAML::Exception& exception) {
    const bool tab = Indentation(text, exception.mark.line).find('\t') != std::string_view::npos;
    error.Add(exception.mark, "", tab ? "a tab in the indentation, expected spaces" : exception.msg);
  }
}

void MakeAbsolute(std::string& path, const std::filesystem::path& directory) {
  if (!path.empty() && path.front() != '/') path = (directory / path).lexically_normal().string();
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& file, OptionLines* lines) {
  Config config;
  FirstError error(file);
  ReadOptions(text, config, error);
  RETURN_IF_ERROR(error.status());
  std::error_code unused;
  const std::filesystem::path directory = std::filesystem::absolute(file, unused).parent_path();
  for (ModelOptions& model : config.models) {
    MakeAbsolute(model.path, directory);
    MakeAbsolute(model.chat_template_file, directory);
    MakeAbsolute(model.speculation.draft_path, directory);
    MakeAbsolute(model.kv_cache.save, directory);
  }
  MakeAbsolute(config.models_directory, directory);
  MakeAbsolute(config.auth.keys_file, directory);
  MakeAbsolute(config.hub.token_file, directory);
  MakeAbsolute(config.run_directory, directory);
  MakeAbsolute(config.admin_tls.certificate, directory);
  MakeAbsolute(config.admin_tls.key, directory);
  MakeAbsolute(config.admin_tls.client_ca, directory);
  RETURN_IF_ERROR(error.AtItsLine(FinishConfig(config)));
  RETURN_IF_ERROR(error.missing());
  if (lines != nullptr) *lines = error.lines();
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& file, OptionLines* lines) {
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file));
  ASSIGN_OR_RETURN(Config config, ParseConfig(text, file, lines));
  ASSIGN_OR_RETURN(config.instruction_set, ChosenInstructionSet(config.instruction_set));
  return config;
}

}  // namespace inferd::config
