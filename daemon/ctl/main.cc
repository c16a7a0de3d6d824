// inferctl: asks a running inferd, on its admin socket.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "config/base/child_process.h"
#include "config/base/command_line.h"
#include "config/base/json_string.h"
#include "config/base/print.h"
#include "config/base/signals.h"
#include "config/base/status.h"
#include "config/base/version.h"
#include "config/load.h"
#include "config/units.h"
#include "daemon/ctl/doctor.h"
#include "daemon/ctl/verbs.h"

namespace inferd::daemon {
namespace {

struct Flags {
  std::string admin = "unix:/run/inferd/admin.sock";
  std::string config;
  bool json = false;
  bool dry_run = false;
  bool allow_tokenizer_change = false;
  std::string model, path, message, drain, key_file, rollback_on, process;
  uint64_t version = 0;
  uint64_t rounds = 0;
  std::string certificate_file, certificate_key_file, ca_file;
  AdminCertificates certificates;
  std::vector<std::string> weights;
  ChatOptions chat;
};

void AddViews(CLI::App& app, Flags& flags) {
  CLI::App* const status = app.add_subcommand("status", "state, restarts and errors of the daemon and of each worker");
  status->add_flag("--json", flags.json, "as one JSON object");
  CLI::App* const models = app.add_subcommand("models", "what can be asked, with sizes");
  models->add_flag("--json", flags.json, "as one JSON object");
  CLI::App* const top = app.add_subcommand("top", "requests, tokens a second and memory of each worker, every second");
  top->add_option("--rounds", flags.rounds, "end after so many")->check(ReadBy(config::ParseWholeNumber));
  CLI::App* const doctor =
      app.add_subcommand("doctor", "what on this machine would keep inferd from working well, and what to do about it");
  doctor->add_flag("--json", flags.json, "as a JSON list");
}

void AddChat(CLI::App& app, Flags& flags) {
  CLI::App* const chat = app.add_subcommand("chat", "talk to a model on the terminal; /help lists the commands there");
  chat->add_option("model", flags.model, "name or alias; without it \"default\", or the first that is ready");
  chat->add_option("-m,--message", flags.message, "ask this (-: what standard input has), print the answer and end")
      ->check([](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); });
  chat->add_option("--system", flags.chat.system, "what the model is told before the conversation");
  chat->add_option("--temperature", flags.chat.temperature,
                   "0 always picks the likeliest token; default 0.7, with --message 0")
      ->check(CLI::Range(0.0, 2.0));
  chat->add_option("--seed", flags.chat.seed, "the same seed gives the same answer")
      ->check(ReadBy(config::ParseWholeNumber));
  chat->add_option("--max-tokens", flags.chat.max_tokens, "longest answer")->check(ReadBy(config::ParseWholeNumber));
  chat->add_option("--key-file", flags.key_file, "file with the API key, where the daemon asks for one");
}

void AddChanges(CLI::App& app, Flags& flags) {
  CLI::App* const reload =
      app.add_subcommand("reload", "read the configuration again and make the running set equal to it");
  reload->add_flag("--dry-run", flags.dry_run, "say what would change");

  CLI::App* const load =
      app.add_subcommand("load", "start a configured model, one that failed, or a file under a name");
  load->add_option("model", flags.model, "name")->required();
  load->add_option("path", flags.path,
                   "GGUF file; beside a running version it gets no traffic until `traffic` says so");
  load->add_flag("--dry-run", flags.dry_run, "say what memory it would take");

  CLI::App* const unload = app.add_subcommand("unload", "finish a model's requests and end its workers");
  unload->add_option("model", flags.model, "name")->required();
  unload->add_option("version", flags.version, "this version alone")
      ->check(ReadBy(config::ParseWholeNumber))
      ->check([](const std::string& text) {
        return std::string(config::ParseWholeNumber(text).value_or(1) == 0 ? "0 is no version: they begin with 1" : "");
      });
  unload->add_option("--drain", flags.drain, "time for running requests, e.g. 30s");

  CLI::App* const swap = app.add_subcommand("swap", "replace the file behind a name while requests run");
  swap->add_option("model", flags.model, "name")->required();
  swap->add_option("path", flags.path, "GGUF file; without it the present one, read again");
  swap->add_flag("--allow-tokenizer-change", flags.allow_tokenizer_change, "also if the tokenizer is another one");
  swap->add_flag("--dry-run", flags.dry_run, "say what memory it would take");
  swap->add_option("--drain", flags.drain, "time for the old version's requests, e.g. 30s");

  CLI::App* const traffic = app.add_subcommand("traffic", "share of the requests that each version of a name gets");
  traffic->add_option("model", flags.model, "name")->required();
  traffic->add_option("weights", flags.weights, "VERSION=WEIGHT, e.g. 1=90 2=10")->required();
  traffic->add_option("--rollback-on", flags.rollback_on, "e.g. error_rate>0.05: go back when it comes true");
  traffic->add_option("--window", flags.drain, "time over which that is judged, e.g. 5m; default 1m");

  CLI::App* const restart = app.add_subcommand("restart", "replace the gateway's process while requests run");
  restart->add_option("process", flags.process, "gateway")->required()->check(CLI::IsMember({"gateway"}));

  CLI::App* const drain =
      app.add_subcommand("drain", "give a model (or all) no more requests and wait for the running ones");
  drain->add_option("model", flags.model, "name; without it all");
  drain->add_option("--deadline", flags.drain, "longest wait, e.g. 30s");
}

absl::StatusOr<std::string> FirstLine(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return NotFound("{}: cannot be read, or is empty", file);
  return line;
}

// A path that the daemon, in another directory, understands.
std::string Absolute(const std::string& path) {
  if (path.empty()) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

// All of standard input, without the line's end.
std::string ReadStandardInput() {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

// What goes to the daemon as text of the contract.
absl::Status CheckTexts(const Flags& flags) {
  const std::pair<const char*, const std::string*> texts[] = {
      {"model", &flags.model}, {"--message", &flags.message}, {"--system", &flags.chat.system}};
  for (const auto& [name, text] : texts) {
    if (!IsUtf8(*text)) return InvalidArgument("{}: is not valid UTF-8", name);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> WholeFile(std::string_view option, const std::string& file) {
  if (file.empty())
    return InvalidArgument("--admin of host:port needs --cert, --key and --ca: {} is not given", option);
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return NotFound("{} {}: cannot be read, or is empty", option, file);
  return text.str();
}

absl::Status Prepare(Flags& flags) {
  if (flags.message == "-") {
    flags.message = ReadStandardInput();
    if (flags.message.empty()) return InvalidArgument("--message -: standard input is empty");
  }
  RETURN_IF_ERROR(CheckTexts(flags));
  if (!flags.config.empty()) {
    ASSIGN_OR_RETURN(const config::Config config, config::LoadConfig(flags.config));
    flags.admin = config.listen.admin.ToString();
  }
  if (!flags.admin.starts_with("unix:")) {
    ASSIGN_OR_RETURN(flags.certificates.certificate, WholeFile("--cert", flags.certificate_file));
    ASSIGN_OR_RETURN(flags.certificates.key, WholeFile("--key", flags.certificate_key_file));
    ASSIGN_OR_RETURN(flags.certificates.ca, WholeFile("--ca", flags.ca_file));
  }
  if (!flags.key_file.empty()) {
    ASSIGN_OR_RETURN(flags.chat.key, FirstLine(flags.key_file));
  }
  flags.path = Absolute(flags.path);
  flags.chat.model = flags.model;
  return absl::OkStatus();
}

int RunVerb(const std::string& verb, const Flags& flags) {
  Milliseconds drain(0);
  if (!flags.drain.empty()) {
    const absl::StatusOr<Milliseconds> parsed = config::ParseDuration(flags.drain);
    if (!parsed.ok()) {
      const std::string_view option = verb == "traffic" ? "--window" : verb == "drain" ? "--deadline" : "--drain";
      PrintError("inferctl", fmt::format("{}: {}", option, MessageOf(parsed.status())));
      return kExitUsage;
    }
    if (verb == "traffic" && *parsed == Milliseconds(0)) {
      PrintError("inferctl", fmt::format("--window: {} is no time", flags.drain));
      return kExitUsage;
    }
    drain = std::max(*parsed, Milliseconds(1));  // 0 would be the daemon's own default
  }
  const auto drain_ms = static_cast<uint64_t>(drain.count());
  // Before gRPC starts its threads: they must not take the signal either.
  absl::StatusOr<UniqueFd> interrupts = UniqueFd();
  if (verb == "chat" || verb == "top") interrupts = OpenSignalFd({SIGINT});
  if (!interrupts.ok()) {
    PrintError("inferctl", MessageOf(interrupts.status()));
    return kExitFailed;
  }
  const AdminClient client(flags.admin, flags.certificates);
  if (verb == "status") return client.Status(flags.json);
  if (verb == "models") return client.Models(flags.json);
  if (verb == "top") return client.Top(flags.rounds, interrupts->get());
  if (verb == "chat") return client.Chat(flags.chat, flags.message, interrupts->get());
  if (verb == "reload") return client.Reload(flags.dry_run);
  if (verb == "load") return client.Load(flags.model, flags.path, flags.dry_run);
  if (verb == "restart") return client.RestartGateway();
  if (verb == "unload") return client.Unload(flags.model, flags.version, drain_ms);
  if (verb == "swap") {
    return client.Swap(flags.model, flags.path, flags.allow_tokenizer_change, flags.dry_run, drain_ms);
  }
  if (verb == "traffic") return client.Traffic(flags.model, flags.weights, flags.rollback_on, drain_ms);
  return client.Drain(flags.model, drain_ms);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Asks a running inferd: its state, its models, changes, and a chat on the terminal.", "inferctl");
  app.add_option("--admin", flags.admin, "address of the daemon's admin socket")->capture_default_str();
  app.add_option("--config", flags.config, "the daemon's configuration, to take the address from");
  app.add_option("--cert", flags.certificate_file, "certificate for an --admin of host:port (PEM)");
  app.add_option("--key", flags.certificate_key_file, "its key (PEM)");
  app.add_option("--ca", flags.ca_file, "certificate that signed the daemon's (PEM)");
  app.set_version_flag("--version", fmt::format("inferctl {}", kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  AddViews(app, flags);
  AddChat(app, flags);
  AddChanges(app, flags);
  if (const std::optional<int> exit_code = ParseCommandLine(app, argc, argv)) return *exit_code;
  // Needs no daemon, and says by itself what is wrong with the configuration.
  if (app.get_subcommands().front()->get_name() == "doctor") {
    const std::string file = flags.config.empty() ? "/etc/inferd/inferd.yaml" : flags.config;
    return FinishOutput("inferctl", PrintFindings(Examine({.config_file = file, .root = ""}), flags.json));
  }
  if (const absl::Status status = Prepare(flags); !status.ok()) {
    PrintError("inferctl", MessageOf(status));
    return kExitUsage;
  }
  return FinishOutput("inferctl", RunVerb(app.get_subcommands().front()->get_name(), flags));
}

}  // namespace
}  // namespace inferd::daemon

int main(int argc, char** argv) { return inferd::daemon::Main(argc, argv); }
