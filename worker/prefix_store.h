// The file in which a worker's prefix cache outlives it (kv_cache.save). There are two, PATH and PATH.2, which take
// turns: the older one is written, its first bytes last, so that a whole one is there at any time, whenever the worker
// dies.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<PrefixStore> store, PrefixStore::Open(path));    // before the sandbox
//   ASSIGN_OR_RETURN(cache::SavedPrefixes loaded, store->Load(cache, identity, deadline));
//   ASSIGN_OR_RETURN(cache::SavedPrefixes saved, store->Save(cache, identity, most_bytes));
//
// Nothing is opened, renamed or cut after Open: the sandbox forbids it. Several workers may have the same files open
// (two versions of a model): each writes under a lock. The files hold prompts, so they are for their owner alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "config/base/clock.h"
#include "config/base/unique_fd.h"
#include "engine/cache/kv_cache.h"

namespace inferd::worker {

class PrefixStore {
 public:
  // Makes the files if they are missing. An error names the file: its folder is missing, it is no regular file, it
  // holds something else, which is never written over, ...
  static absl::StatusOr<std::unique_ptr<PrefixStore>> Open(const std::string& path);

  // Loads the newer file, or the other where that one is of no use, until the deadline; nothing of empty files. Errors
  // of KvCache::LoadPrefixes, of the newer one, where neither is of use.
  absl::StatusOr<cache::SavedPrefixes> Load(cache::KvCache& cache, std::string_view identity, MonotonicTime deadline,
                                            const Clock& clock = Clock::System());

  // Writes the older file. UNAVAILABLE: other workers write both.
  absl::StatusOr<cache::SavedPrefixes> Save(cache::KvCache& cache, std::string_view identity, uint64_t most_bytes);

 private:
  struct Slot {
    std::string path;
    UniqueFd fd;
  };
  explicit PrefixStore(std::array<Slot, 2> slots) : slots_(std::move(slots)) {}

  std::array<Slot, 2> slots_;
};

}  // namespace inferd::worker
