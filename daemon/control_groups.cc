// The rules are those of the kernel's Documentation/admin-guide/cgroup-v2.rst, "Delegation" and "No Internal Process
// Constraint".
#include "daemon/control_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "config/base/status.h"
#include "daemon/own_group.h"

namespace inferd::daemon {
namespace {

absl::Status Write(const std::string& file, const std::string& text) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return FromErrno(errno, file);
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return FromErrno(errno, file);
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  return mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST ? absl::OkStatus() : FromErrno(errno, folder);
}

// Whether a file of words has this one.
bool Names(const std::string& file, const std::string& wanted) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlGroups>> ControlGroups::Create(const KernelFolders& folders) {
  const std::optional<std::string> path = FindOwnGroup(folders.proc).unified;
  const std::string folder = folders.cgroup + path.value_or("");
  if (!path || !Names(folder + "/cgroup.controllers", "memory")) {
    return FailedPrecondition("no control group (version 2) with a memory controller");
  }
  const std::string own = folder + kSupervisorGroup, pid = std::to_string(getpid());
  RETURN_IF_ERROR(MakeFolder(own));
  absl::Status status = Write(own + "/cgroup.procs", pid);
  if (status.ok()) status = Write(folder + "/cgroup.subtree_control", "+memory");
  if (status.ok()) return std::unique_ptr<ControlGroups>(new ControlGroups(folder));
  Write(folder + "/cgroup.procs", pid).IgnoreError();
  rmdir(own.c_str());
  return status;
}

ControlGroups::~ControlGroups() { RemoveEmpty(""); }

// The kernel refuses for those with processes, and takes the files in a group away with it.
void ControlGroups::RemoveEmpty(const std::string& but) {
  std::erase_if(opened_,
                [&](const std::string& name) { return name != but && rmdir((folder_ + "/" + name).c_str()) == 0; });
}

absl::StatusOr<UniqueFd> ControlGroups::Open(const std::string& name, uint64_t memory_bytes) {
  RemoveEmpty(name);
  const std::string group = folder_ + "/" + name;
  RETURN_IF_ERROR(MakeFolder(group));
  opened_.insert(name);
  RETURN_IF_ERROR(Write(group + "/memory.max", std::to_string(memory_bytes)));
  UniqueFd procs(open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!procs) return FromErrno(errno, group + "/cgroup.procs");
  return procs;
}

}  // namespace inferd::daemon
