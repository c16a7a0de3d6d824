// Constraints that a model's requests have used lately, ready with what they have computed.
//
//   ConstraintCache cache(texts, end_of_generation);
//   ASSIGN_OR_RETURN(Constraint constraint, cache.Get({.key = "regex:[0-9]+", .compile = [] { ... }}));
//
// Get may be called from any thread; a Constraint is of the engine's thread alone.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/base/warning.h"
#include "engine/constraint/matcher.h"

namespace inferd::constraint {

struct CompiledConstraint {
  std::shared_ptr<const Program> program;
  std::vector<Warning> warnings;  // what of the wish it does not keep
};

// What a request asks for. Equal keys mean equal constraints.
struct ConstraintSource {
  std::string key;
  std::function<absl::StatusOr<CompiledConstraint>()> compile;
};

class ConstraintCache {
 public:
  static constexpr size_t kMostEntries = 16;

  // Milliseconds for a large vocabulary: not for the engine's thread.
  ConstraintCache(std::shared_ptr<const sampling::TokenTexts> texts, std::span<const int32_t> end_of_generation);

  // Errors of source.compile. INVALID_ARGUMENT: no token of the vocabulary begins a text that the constraint takes.
  absl::StatusOr<Constraint> Get(const ConstraintSource& source);

 private:
  static absl::Status MakeFirstMask(const Constraint& constraint);

  const std::shared_ptr<const sampling::TokenTexts> texts_;
  const std::shared_ptr<const TokenTrie> trie_;
  absl::Mutex mutex_;
  // The last used first.
  std::list<std::pair<std::string, Constraint>> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::constraint
