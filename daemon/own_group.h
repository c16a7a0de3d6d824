// Which control groups this process is in, as /proc/self/cgroup tells it.
//
//   const OwnGroup group = FindOwnGroup(KernelFolders().proc);
//   const std::string folder = folders.cgroup + *group.unified;
#pragma once

#include <optional>
#include <string>

namespace inferd::daemon {

// Paths below the root of a hierarchy, "/" for the root itself.
struct OwnGroup {
  // Of version 2.
  std::optional<std::string> unified;
  // Of the memory controller, where it has a hierarchy of version 1.
  std::optional<std::string> memory;
};

// `proc`: where the kernel's process files are. A file that is not there says nothing.
OwnGroup FindOwnGroup(const std::string& proc);

}  // namespace inferd::daemon
