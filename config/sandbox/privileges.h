// What no process of ours needs: memory that others may look at, core files, programs that raise rights, capabilities.
//
//   RETURN_IF_ERROR(HideMemory());                       // first in main
//   RETURN_IF_ERROR(DropCapabilities({}));               // before any thread
#pragma once

#include <initializer_list>

#include "absl/status/status.h"

namespace inferd::sandbox {

// No core file (it would hold prompts and keys), no look at the memory of this process by others of its user
// (PR_SET_DUMPABLE; it ends with exec and is inherited by fork), no new privileges by exec.
absl::Status HideMemory();

// Of the calling thread and those that it starts, and of the programs that they run, for good: all but `kept` (numbers
// of linux/capability.h) leave the bounding set where that may be changed, the ambient set, and the sets of the thread.
absl::Status DropCapabilities(std::initializer_list<int> kept);

// Where capabilities allow it, the limit on niceness becomes one that allows the present niceness: who lowers itself
// may come back. Before capabilities are dropped; programs that are started inherit it.
void AllowReturnOfNiceness();

}  // namespace inferd::sandbox
