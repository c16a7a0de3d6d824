// Which files and sockets a process may reach from now on, by Landlock, in the newest form that the kernel knows.
//
//   ASSIGN_OR_RETURN(const int abi, LimitReach({.directories = {"/usr/share/zoneinfo"}}));   // before any thread
//   LogInfo("sandbox", {{"landlock_abi", abi}});                                             // 0: the kernel has none
//
// It holds for the calling thread and those that it starts. What is open stays open. By version of the kernel's
// interface: 1 files (Linux 5.13), 3 truncation (6.2), 4 TCP (6.7), 5 device controls (6.10), 6 signals to other
// processes and abstract unix sockets (6.12). Older kernels leave out what they do not know.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::sandbox {

struct Reach {
  std::vector<std::string> files;        // to read
  std::vector<std::string> directories;  // to read, with everything in them
  std::vector<std::string> sockets;      // directories where unix sockets are made and removed
  bool tcp_listen = false;               // to bind TCP ports
  bool tcp_connect = false;
};

// The folder that `path` lies in, and that which a link of this name leads to. Nothing for "".
void AddFolderOf(const std::string& path, std::vector<std::string>& folders);

// Of the kernel's interface; 0: the kernel has no Landlock, or has it turned off.
absl::StatusOr<int> LandlockVersion();

// Beside what `reach` names, the kernel's descriptions of the machine and of this process can be read. Names that do
// not exist are skipped. Returns the version in force.
absl::StatusOr<int> LimitReach(const Reach& reach);

}  // namespace inferd::sandbox
