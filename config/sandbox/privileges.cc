#include "config/sandbox/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "config/base/status.h"

namespace inferd::sandbox {

absl::Status HideMemory() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return FromErrno(errno, "no core files");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return FromErrno(errno, "hiding the memory");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FromErrno(errno, "no_new_privs");
  return absl::OkStatus();
}

void AllowReturnOfNiceness() {
  constexpr int kLimitOfNicenessZero = 20;
  const auto needed = static_cast<rlim_t>(kLimitOfNicenessZero - getpriority(PRIO_PROCESS, 0));
  rlimit limit{};
  if (getrlimit(RLIMIT_NICE, &limit) != 0 || limit.rlim_max >= needed) return;
  limit = {.rlim_cur = needed, .rlim_max = needed};
  setrlimit(RLIMIT_NICE, &limit);  // without CAP_SYS_RESOURCE nothing changes
}

absl::Status DropCapabilities(std::initializer_list<int> kept) {
  const auto keeps = [&](int capability) { return std::find(kept.begin(), kept.end(), capability) != kept.end(); };
  // Up to the last one that the kernel knows. EPERM: without CAP_SETPCAP the bounding set stays, and gives nothing to a
  // process that may not gain privileges.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (keeps(capability) || prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 0) continue;
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return FromErrno(errno, "capabilities");
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return FromErrno(errno, "ambient capabilities");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return FromErrno(errno, "capabilities");
  bool changes = false;
  for (uint32_t word = 0; word < _LINUX_CAPABILITY_U32S_3; ++word) {
    uint32_t mask = 0;
    for (const int capability : kept) {
      if (static_cast<uint32_t>(capability) / 32 == word) mask |= uint32_t{1} << (capability % 32);
    }
    changes = changes || (sets[word].permitted & ~mask) != 0 || sets[word].inheritable != 0;
    sets[word] = {.effective = sets[word].permitted & mask, .permitted = sets[word].permitted & mask, .inheritable = 0};
  }
  if (!changes) return absl::OkStatus();  // a service manager that took them all may forbid the call, too
  return syscall(SYS_capset, &header, sets) == 0 ? absl::OkStatus() : FromErrno(errno, "capabilities");
}

}  // namespace inferd::sandbox
