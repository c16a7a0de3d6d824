#include "engine/constraint/constraint_cache.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::constraint {

ConstraintCache::ConstraintCache(std::shared_ptr<const sampling::TokenTexts> texts,
                                 std::span<const int32_t> end_of_generation)
    : texts_(std::move(texts)), trie_(std::make_shared<const TokenTrie>(*texts_, end_of_generation)) {}

// Nobody else has the constraint yet, so that this thread may.
absl::Status ConstraintCache::MakeFirstMask(const Constraint& constraint) {
  Matcher matcher(constraint);
  ASSIGN_OR_RETURN(const Matcher::Allowed first, matcher.Next());
  if (!first.tokens->empty() || first.ends) return absl::OkStatus();
  return InvalidField("constraint", "no token of the vocabulary begins a text that it allows");
}

// A constraint is made without the lock: two that are asked for at once may be made twice.
absl::StatusOr<Constraint> ConstraintCache::Get(const ConstraintSource& source) {
  const auto find = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == source.key; });
  };
  {
    absl::MutexLock lock(&mutex_);
    if (const auto found = find(); found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return found->second;
    }
  }
  ASSIGN_OR_RETURN(CompiledConstraint compiled, source.compile());
  Constraint made{.masks = std::make_shared<TokenMasks>(std::move(compiled.program), trie_),
                  .texts = texts_,
                  .warnings = std::make_shared<const std::vector<Warning>>(std::move(compiled.warnings))};
  RETURN_IF_ERROR(MakeFirstMask(made));
  absl::MutexLock lock(&mutex_);
  if (const auto found = find(); found != entries_.end()) return found->second;
  entries_.emplace_front(source.key, made);
  if (entries_.size() > kMostEntries) entries_.pop_back();
  return made;
}

}  // namespace inferd::constraint
