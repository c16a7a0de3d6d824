// Another user for the rest of a process's life, for a child of a daemon that runs as root.
//
//   RETURN_IF_ERROR(CanBecome(60600));                                  // before any thread
//   RETURN_IF_ERROR(BecomeUser(60600, {operators}));                    // likewise; capabilities stay until
//   RETURN_IF_ERROR(DropCapabilities({CAP_DAC_READ_SEARCH}));           // they are dropped
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inferd::sandbox {

// Whether BecomeUser would succeed, tried in a process of its own. PERMISSION_DENIED, or INVALID_ARGUMENT where the
// container has no such user.
absl::Status CanBecome(uid_t user);

// User and group `user`, with `groups` beside it. What the process holds of capabilities, it keeps and may use; it
// still ends with its parent where it was to.
absl::Status BecomeUser(uid_t user, const std::vector<gid_t>& groups);

// Becomes `user` where that may read `paths` afterwards: by Landlock, which bounds what the right to read everything is
// for, or by their modes. Returns why it has not become that user; empty: it has, or `user` is 0.
absl::StatusOr<std::string> BecomeReader(uid_t user, const std::vector<gid_t>& groups,
                                         const std::vector<std::string>& paths);

// Of `paths`, the first that `user` cannot read (files) or enter (directories) by its mode and that of the directories
// above it; empty: all can be. Names that do not exist are skipped. For root.
std::string FirstUnreadable(uid_t user, const std::vector<std::string>& paths);

}  // namespace inferd::sandbox
