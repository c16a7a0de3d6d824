// The order counts: open what is to be written, bound what names can reach, load the libraries that we open ourselves
// (their threads are bound, too), bound the system calls.
#include "worker/preparation.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <csignal>
#include <ctime>
#include <vector>

#include "config/base/address.h"
#include "config/base/child_process.h"
#include "config/base/status.h"
#include "config/environment.h"
#include "config/load.h"
#include "config/sandbox/landlock.h"
#include "config/sandbox/privileges.h"
#include "config/sandbox/system_calls.h"
#include "config/sandbox/user.h"
#include "engine/device/factory/device_factory.h"

namespace inferd::worker {
namespace {

absl::Status ReadAssignment(const WorkerOptions& options, Preparation& ready) {
  ASSIGN_OR_RETURN(ready.config, config::LoadConfig(options.config));
  ready.model = ready.config.FindModel(options.model);
  if (ready.model == nullptr) return NotFound("--model {}: no such model in {}", options.model, options.config);
  ASSIGN_OR_RETURN(const config::InstructionSet isa, config::ChosenInstructionSet(ready.config.instruction_set));
  if (isa != config::InstructionSet::kAuto) ready.isa = config::NameOf(isa);
  return absl::OkStatus();
}

absl::Status OpenListener(const WorkerOptions& options, Preparation& ready) {
  if (options.check) return absl::OkStatus();
  const absl::StatusOr<Address> address = ParseAddress(options.listen);
  if (!address.ok()) return Annotate(address.status(), "--listen");
  // The socket's file gets this group; who starts the worker keeps it as its own.
  const auto former = static_cast<gid_t>(setfsgid(options.socket_group == 0 ? getegid() : options.socket_group));
  absl::StatusOr<UniqueFd> listener = Listen(*address);
  setfsgid(former);
  if (!listener.ok()) return Annotate(listener.status(), "--listen");
  ready.listener = *std::move(listener);
  if (options.socket_group == 0 || !address->is_unix()) return absl::OkStatus();
  return chmod(address->path.c_str(), 0660) == 0 ? absl::OkStatus() : FromErrno(errno, address->path);
}

void OpenPrefixes(const WorkerOptions& options, Preparation& ready) {
  const std::string& path = ready.model->kv_cache.save;
  if (options.check || path.empty()) return;
  absl::StatusOr<std::unique_ptr<PrefixStore>> store = PrefixStore::Open(path);
  if (store.ok()) {
    ready.prefixes = *std::move(store);
  } else {
    ready.no_prefixes = store.status();  // a model without its prefixes is served all the same
  }
}

absl::Status GiveUp(const WorkerOptions& options, Preparation& ready) {
  const std::vector<std::string> files = {ready.model->path, ready.model->speculation.draft_path,
                                          ready.model->chat_template_file};
  sandbox::Reach reach;
  // All parts of a split file lie in one folder.
  for (const std::string& file : files) sandbox::AddFolderOf(file, reach.directories);
  // OpenBLAS and what it needs.
  if (ready.model->engine.blas) {
    const auto libraries = {"/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"};
    reach.directories.insert(reach.directories.end(), libraries.begin(), libraries.end());
    reach.files.push_back("/etc/ld.so.cache");
  }
  if (options.quiet_load) sandbox::AllowReturnOfNiceness();
  ASSIGN_OR_RETURN(ready.no_user, sandbox::BecomeReader(options.user, {}, files));
  ASSIGN_OR_RETURN(ready.landlock_abi, sandbox::LimitReach(reach));
  // As root: models that belong to others can be read, where Landlock bounds which.
  if (ready.landlock_abi > 0) return sandbox::DropCapabilities({CAP_DAC_READ_SEARCH});
  return sandbox::DropCapabilities({});
}

absl::Status LoadLibraries(const config::ModelOptions& model) {
  if (!model.engine.blas) return absl::OkStatus();
  // OpenBLAS starts threads, which are to leave the signals of the process to the one that waits for them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const absl::Status status = device::LoadBlas();
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  return status;
}

}  // namespace

std::unique_ptr<Preparation> Prepare(const WorkerOptions& options) {
  auto ready = std::make_unique<Preparation>();
  const auto failed = [&](absl::Status status, int exit_code) {
    if (status.ok()) return false;
    ready->status = std::move(status);
    ready->exit_code = exit_code;
    return true;
  };
  if (options.sandbox && failed(sandbox::HideMemory(), kExitFailed)) return ready;
  if (failed(ReadAssignment(options, *ready), kExitUsage)) return ready;
  tzset();  // reads its file while files can be opened
  if (failed(OpenListener(options, *ready), kExitFailed)) return ready;
  OpenPrefixes(options, *ready);
  if (options.sandbox && failed(GiveUp(options, *ready), kExitFailed)) return ready;
  if (absl::Status status = LoadLibraries(*ready->model); !status.ok()) {
    failed(options.check ? status : Annotate(status, "model " + options.model), kExitRefused);
    return ready;
  }
  if (options.sandbox) failed(sandbox::LimitSystemCalls(sandbox::Stage::kLoadingWorker), kExitFailed);
  return ready;
}

}  // namespace inferd::worker
