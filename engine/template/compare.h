// Truth, equality, order and hash of values, as Python defines them.
//
//   if (IsTrue(value)) ...
//   ASSIGN_OR_RETURN(bool same, AreEqual(heap, a, b));
//   ASSIGN_OR_RETURN(bool less, IsLess(heap, a, b));   // INVALID_ARGUMENT: '<' not supported between ...
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

bool IsTrue(const Value& value);
absl::StatusOr<bool> AreEqual(Heap& heap, const Value& a, const Value& b);
absl::StatusOr<bool> IsLess(Heap& heap, const Value& a, const Value& b);
// Equal values have equal hashes; lists and dicts have none.
absl::StatusOr<size_t> HashOf(Heap& heap, const Value& value);

// The error of using an undefined value: its own message.
absl::Status UndefinedError(const Value& value);

// The elements of an iterable; an iterator gives its rest and is empty afterwards.
absl::StatusOr<std::shared_ptr<const Sequence>> Iterate(Heap& heap, const Value& value);
// len(): INVALID_ARGUMENT for what has none.
absl::StatusOr<int64_t> LengthOf(const Value& value);
// The operator `in`.
absl::StatusOr<bool> Contains(Heap& heap, const Value& container, const Value& element);

}  // namespace inferd::chat_template
