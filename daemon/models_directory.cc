#include "daemon/models_directory.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "config/base/status.h"
#include "config/options.h"

namespace inferd::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".gguf", kPart = "-00001-of-";
constexpr size_t kPartBytes = kPart.size() + 5;  // with the number of parts

bool AllDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), absl::ascii_isdigit); }

// "-00002-of-00005" at the end of a name; empty: none.
std::string_view PartOf(std::string_view name) {
  if (name.size() <= kPartBytes) return {};
  const std::string_view part = name.substr(name.size() - kPartBytes);
  const bool is_part =
      part[0] == '-' && AllDigits(part.substr(1, 5)) && part.substr(6, 4) == "-of-" && AllDigits(part.substr(10));
  return is_part ? part : std::string_view();
}

std::string NameOf(std::string_view file) {
  std::string name(file.substr(0, file.size() - kEnding.size()));
  name.resize(name.size() - PartOf(name).size());
  for (char& c : name) {
    if (!config::CheckModelName("", {&c, 1}).ok()) c = '-';
  }
  return name;
}

bool IsModel(const std::string& file) {
  if (!file.ends_with(kEnding) || file.starts_with('.')) return false;
  const std::string_view part = PartOf(std::string_view(file).substr(0, file.size() - kEnding.size()));
  return part.empty() || part.starts_with(kPart);
}

}  // namespace

absl::Status AddModelsOf(const std::string& directory, std::vector<config::ModelOptions>& models) {
  std::error_code error;
  std::set<std::string> files;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (IsModel(file) && !entry->is_directory(error)) files.insert(file);
  }
  if (error) return AtField("models_directory", FromErrno(error.value(), directory));

  std::set<fs::path> known;
  std::map<std::string, std::string, std::less<>> taken;  // names, and whose they are
  for (const config::ModelOptions& model : models) {
    known.insert(fs::path(model.path).lexically_normal());
    taken.emplace(model.name, "a model of the configuration");
    for (const std::string& alias : model.aliases) taken.emplace(alias, "an alias of " + model.name);
  }
  for (const std::string& file : files) {
    const fs::path path = (fs::path(directory) / file).lexically_normal();
    if (known.contains(path)) continue;
    config::ModelOptions model;
    model.name = NameOf(file);
    model.path = path.string();
    model.preload = false;
    RETURN_IF_ERROR(config::CheckModelName("models_directory", model.name));
    const auto [owner, added] = taken.emplace(model.name, file);
    if (!added) {
      return InvalidField("models_directory", "{}: its name {} is that of {}; give one of them another under models",
                          file, model.name, owner->second);
    }
    models.push_back(std::move(model));
  }
  return absl::OkStatus();
}

absl::StatusOr<config::Config> LoadConfigWithModels(const std::string& file, config::OptionLines* lines) {
  config::OptionLines own;
  if (lines == nullptr) lines = &own;
  ASSIGN_OR_RETURN(config::Config config, config::LoadConfig(file, lines));
  if (config.models_directory.empty()) return config;
  const int line = lines->at("models_directory");
  const size_t named = config.models.size();
  const absl::Status added = AddModelsOf(config.models_directory, config.models);
  if (!added.ok()) return Annotate(added, fmt::format("{}:{}", file, line));
  for (size_t i = named; i < config.models.size(); ++i) (*lines)[fmt::format("models[{}].path", i)] = line;
  return config;
}

}  // namespace inferd::daemon
