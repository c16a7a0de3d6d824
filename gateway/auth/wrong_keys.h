// Slows down whoever tries keys: an address may present so many wrong ones a minute. Beyond that its keys are not even
// looked at, so that trying tells nothing, but for those with which it has been right before: a client behind the same
// proxy goes on.
//
//   WrongKeys wrong_keys(30, clock);
//   if (std::optional<Milliseconds> wait = wrong_keys.MustWait(group, hash)) return ...   // try again after that
//   key == nullptr ? wrong_keys.NoteWrong(group) : wrong_keys.NoteRight(group, hash);
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "config/base/clock.h"

namespace inferd::gateway {

// Safe for use by several threads. `group`: see address_group.h. `presented`: the key as the client sent it, of which
// no more than a keyed hash is kept.
class WrongKeys {
 public:
  // `per_minute` 0: any number.
  WrongKeys(uint32_t per_minute, const Clock& clock);

  std::optional<Milliseconds> MustWait(const std::string& group, std::string_view presented);
  void NoteWrong(const std::string& group);
  void NoteRight(const std::string& group, std::string_view presented);

  // Addresses, and right keys of addresses, that are remembered: what is more makes room for itself.
  static constexpr size_t kMostEntries = 100'000;

 private:
  struct Bucket {
    double left = 0;
    MonotonicTime filled;
  };
  Bucket& Filled(const std::string& group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a key with its address, so that what is kept is no hash that could be searched for keys.
  size_t Mark(const std::string& group, std::string_view presented) const;

  const uint32_t per_minute_;
  const Clock& clock_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Bucket> buckets_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<size_t> right_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
