#include "daemon/ctl/doctor.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "config/api_keys.h"
#include "config/base/child_process.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/units.h"
#include "daemon/file_identity.h"
#include "daemon/models_directory.h"

namespace inferd::daemon {
namespace {

constexpr uint64_t kOfEachWorker = uint64_t{96} << 20;  // beside file and pool

std::string_view NameOf(Verdict verdict) {
  return verdict == Verdict::kGood ? "good" : verdict == Verdict::kHint ? "hint" : "FAULT";
}

Finding Fault(std::string subject, const absl::Status& status, std::string advice) {
  return {std::move(subject), Verdict::kFault, std::string(MessageOf(status)), std::move(advice)};
}

// Whether somebody listens there, be it for others alone.
bool Answers(const Address& address) {
  const absl::Status status = ConnectUnix(address.path).status();
  return status.ok() || absl::IsPermissionDenied(status);
}

Finding Port(std::string_view option, const Address& address, bool running) {
  const std::string subject = std::string(option);
  if (running) return {subject, Verdict::kGood, address.ToString() + ", held by the daemon that runs", ""};
  if (address.is_unix()) return {subject, Verdict::kGood, address.ToString(), ""};
  const absl::StatusOr<UniqueFd> bound = Listen(address);
  if (bound.ok()) return {subject, Verdict::kGood, address.ToString() + " is free", ""};
  return Fault(subject, bound.status(), "ss -ltnp shows who has it; choose another one, or end that program");
}

Finding OpenFiles(const config::Config& config) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t wanted = config.limits.connections + 1024;
  const std::string found =
      fmt::format("{} at most, {} connections are allowed", limit.rlim_max, config.limits.connections);
  if (limit.rlim_max >= wanted) return {"open files", Verdict::kGood, found, ""};
  return {
      "open files", Verdict::kHint, found,
      fmt::format("raise the limit to {} (LimitNOFILE= of the unit, ulimit -n), or lower limits.connections", wanted)};
}

Finding Memory(const config::Config& config, const std::vector<FileIdentity>& files, const std::string& root) {
  const uint64_t available = AvailableMemoryBy({.proc = root + "/proc", .cgroup = root + "/sys/fs/cgroup"});
  uint64_t loaded = 0, largest = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const config::ModelOptions& model = config.models[i];
    const uint64_t needed = PlanMemory(model, files[i], available).needed_bytes + kOfEachWorker;
    largest = std::max(largest, needed);
    if (model.preload) loaded += needed;
  }
  loaded = std::max(loaded, largest);
  const auto mebibytes = [](uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); };
  const std::string found =
      fmt::format("{} are available, models that are loaded at once take {}", mebibytes(available), mebibytes(loaded));
  if (loaded <= available) return {"memory", Verdict::kGood, found, ""};
  return {"memory", Verdict::kHint, found,
          "where that is not the daemon's own use already: preload: false with supervisor.memory_budget, a smaller "
          "kv_cache.bytes, or a file of fewer bits"};
}

void ExamineModels(const std::string& config_file, const std::string& root, const config::Config& config,
                   std::vector<Finding>& findings) {
  std::vector<FileIdentity> files;
  bool all = true;
  for (const config::ModelOptions& model : config.models) {
    const absl::StatusOr<FileIdentity> file = IdentifyModel(model);
    if (file.ok()) {
      files.push_back(*file);
      continue;
    }
    all = false;
    findings.push_back(
        Fault("model " + model.name, file.status(), "bring the file, or change its path in " + config_file));
  }
  if (all) {
    findings.push_back(
        {"models", Verdict::kGood, fmt::format("{}, and all files are there", config.models.size()), ""});
    findings.push_back(Memory(config, files, root));
  }
}

}  // namespace

std::vector<Finding> ExamineConfiguration(const std::string& config_file, const std::string& root) {
  std::vector<Finding> findings;
  const absl::StatusOr<config::Config> config = LoadConfigWithModels(config_file);
  if (!config.ok()) {
    findings.push_back(Fault("configuration", config.status(), "correct it; inferd --check says more"));
    return findings;
  }
  findings.push_back({"configuration", Verdict::kGood, config_file, ""});
  if (const absl::Status keys = config::CheckKeysFile(*config); !keys.ok()) {
    findings.push_back(Fault("keys", keys, "correct auth.keys_file"));
  }
  ExamineModels(config_file, root, *config, findings);
  const bool running = Answers(config->listen.admin);
  findings.push_back({"daemon", Verdict::kGood,
                      running ? "answers on " + config->listen.admin.ToString() : std::string("does not run"), ""});
  findings.push_back(Port("listen.http", config->listen.http, running));
  findings.push_back(Port("listen.grpc", config->listen.grpc, running));
  findings.push_back(OpenFiles(*config));
  return findings;
}

std::vector<Finding> Examine(const ExamineOptions& options) {
  std::vector<Finding> findings = ExamineConfiguration(options.config_file, options.root);
  for (Finding& finding : ExamineMachine(options.root)) findings.push_back(std::move(finding));
  return findings;
}

int PrintFindings(const std::vector<Finding>& findings, bool as_json) {
  bool fault = false;
  boost::json::array list;
  for (const Finding& finding : findings) {
    fault |= finding.verdict == Verdict::kFault;
    if (as_json) {
      list.push_back(
          boost::json::object{{"subject", finding.subject},
                              {"verdict", finding.verdict == Verdict::kFault ? "fault" : NameOf(finding.verdict)},
                              {"found", finding.found},
                              {"advice", finding.advice}});
      continue;
    }
    Print("{:<6} {:<16} {}\n", NameOf(finding.verdict), finding.subject, finding.found);
    if (!finding.advice.empty()) Print("{:<24}{}\n", "", finding.advice);
  }
  if (as_json) Print("{}\n", boost::json::serialize(list));
  return fault ? kExitFailed : kExitDone;
}

}  // namespace inferd::daemon
