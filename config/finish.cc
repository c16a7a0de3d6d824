// Rules between options, checked after each option has been read by itself.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "config/base/status.h"
#include "config/options.h"
#include "config/units.h"

namespace inferd::config {
namespace {

constexpr size_t kMaxNameBytes = 128;
// A unix socket's path has at most 107 bytes, and a worker's needs room after the directory.
constexpr size_t kMaxRunDirectoryBytes = 80;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/:@+").find(c) != std::string_view::npos;
}

// Each name and alias names one model.
absl::Status CheckNames(const std::vector<ModelOptions>& models) {
  std::map<std::string_view, std::string> taken;
  for (size_t i = 0; i < models.size(); ++i) {
    std::vector<std::pair<std::string, std::string_view>> names = {{fmt::format("models[{}].name", i), models[i].name}};
    for (size_t k = 0; k < models[i].aliases.size(); ++k) {
      names.emplace_back(fmt::format("models[{}].aliases[{}]", i, k), models[i].aliases[k]);
    }
    for (const auto& [option, name] : names) {
      RETURN_IF_ERROR(CheckModelName(option, name));
      const auto [first, added] = taken.emplace(name, option);
      if (!added) return InvalidField(option, "\"{}\" is already the value of {}", name, first->second);
    }
  }
  return absl::OkStatus();
}

// Whether two listeners cannot exist beside each other.
bool Overlap(const Address& a, const Address& b) {
  if (a.is_unix() || b.is_unix()) return a == b;
  if (a.port != b.port || a.port == 0) return false;
  const auto is_v6 = [](const Address& address) { return address.host.find(':') != std::string::npos; };
  if (a.host == b.host || a.host == "::" || b.host == "::") return true;
  return is_v6(a) == is_v6(b) && (a.host == "0.0.0.0" || b.host == "0.0.0.0");
}

absl::Status CheckListeners(const ListenOptions& listen) {
  const std::pair<std::string_view, const Address*> all[] = {{"listen.http", &listen.http},
                                                             {"listen.grpc", &listen.grpc},
                                                             {"listen.admin", &listen.admin},
                                                             {"listen.admin_tcp", &listen.admin_tcp}};
  for (const auto& [option, address] : all) {
    if (*address == Address()) continue;  // not set
    for (const auto& [before, other] : all) {
      if (before == option) break;
      if (!Overlap(*address, *other)) continue;
      return InvalidField(option, "{} is taken by {}, {}", address->ToString(), before, other->ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAdminTcp(const Config& config) {
  const Address& address = config.listen.admin_tcp;
  if (address == Address()) return absl::OkStatus();
  if (address.is_unix()) {
    return InvalidField("listen.admin_tcp", "{} is a unix socket, expected host:port", address.ToString());
  }
  for (const auto& [option, file] : {std::pair{"certificate", &config.admin_tls.certificate},
                                     {"key", &config.admin_tls.key},
                                     {"client_ca", &config.admin_tls.client_ca}}) {
    if (file->empty()) return InvalidField("listen.admin_tcp", "needs admin_tls.{}, which is not set", option);
  }
  return absl::OkStatus();
}

// Two models would take turns at spoiling each other's, and none may lie where a model does.
absl::Status CheckSaves(const std::vector<ModelOptions>& models) {
  std::map<std::string, size_t> taken;
  std::set<std::string> files;
  for (const ModelOptions& model : models) files.insert({model.path, model.speculation.draft_path});
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string& path = models[i].kv_cache.save;
    if (path.empty()) continue;
    for (const std::string& file : {path, path + ".2"}) {
      if (files.contains(file)) {
        return InvalidField(fmt::format("models[{}].kv_cache.save", i), "{} is the file of a model", file);
      }
      const auto [other, is_new] = taken.try_emplace(file, i);
      if (is_new) continue;
      return InvalidField(fmt::format("models[{}].kv_cache.save", i), "{} is taken by models[{}].kv_cache.save", file,
                          other->second);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckResources(const std::vector<ModelOptions>& models) {
  for (size_t i = 0; i < models.size(); ++i) {
    const ModelOptions& model = models[i];
    const absl::Status cpus = ParseCpuList(model.cpus).status();
    if (!cpus.ok()) return AtField(fmt::format("models[{}].cpus", i), cpus);
    if (model.memory_limit > 0 && model.memory_limit <= model.kv_cache.bytes) {
      return InvalidField(fmt::format("models[{}].memory_limit", i),
                          "{} is not more than kv_cache.bytes, {}, which is part of it",
                          FormatByteSize(model.memory_limit), FormatByteSize(model.kv_cache.bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckModelName(std::string_view option, std::string_view name) {
  const bool good =
      !name.empty() && name.size() <= kMaxNameBytes && std::all_of(name.begin(), name.end(), IsNameCharacter);
  if (good) return absl::OkStatus();
  return InvalidField(option, "\"{}\" is not a model name: expected 1..{} letters, digits and . _ - / : @ +", name,
                      kMaxNameBytes);
}

absl::Status FinishConfig(Config& config) {
  std::string& directory = config.run_directory;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  if (!directory.starts_with('/') || directory.size() > kMaxRunDirectoryBytes) {
    return InvalidField("run_directory", "\"{}\" is not an absolute path of at most {} bytes (sockets lie in it)",
                        directory, kMaxRunDirectoryBytes);
  }
  if (config.listen.admin == Address()) config.listen.admin.path = directory + "/admin.sock";
  if (!config.listen.admin.is_unix()) {
    return InvalidField("listen.admin", "{} is not a unix socket", config.listen.admin.ToString());
  }
  RETURN_IF_ERROR(CheckAdminTcp(config));
  if (!config.listen.grpc.IsLoopback() && config.auth.keys_file.empty()) {
    return InvalidField("listen.grpc", "{} is not on loopback, which needs auth.keys_file: use keys or 127.0.0.1",
                        config.listen.grpc.ToString());
  }
  RETURN_IF_ERROR(CheckListeners(config.listen));
  if (config.limits.all_bodies < config.limits.body) {
    return InvalidField("limits.all_bodies", "{} bytes are less than limits.body, {}", config.limits.all_bodies,
                        config.limits.body);
  }
  const SupervisorOptions& supervisor = config.supervisor;
  if (supervisor.restart.first_delay > supervisor.restart.max_delay) {
    return InvalidField("supervisor.restart.first_delay", "{}ms is more than max_delay, {}ms",
                        supervisor.restart.first_delay.count(), supervisor.restart.max_delay.count());
  }
  for (size_t i = 0; i < config.models.size(); ++i) {
    const SpeculationOptions& speculation = config.models[i].speculation;
    if (speculation.kind == SpeculationKind::kDraft && speculation.draft_path.empty()) {
      return InvalidField(fmt::format("models[{}].speculation.kind", i),
                          "draft needs draft_path, the file of a draft model");
    }
    if (!config.models[i].chat_template_file.empty() && config.models[i].chat_template != ChatTemplate::kFile) {
      return InvalidField(fmt::format("models[{}].chat_template_file", i),
                          "is the template, and chat_template names {} as well",
                          NameOf(config.models[i].chat_template));
    }
  }
  RETURN_IF_ERROR(CheckNames(config.models));
  RETURN_IF_ERROR(CheckSaves(config.models));
  return CheckResources(config.models);
}

const ModelOptions* Config::FindModel(std::string_view name) const {
  for (const ModelOptions& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace inferd::config
