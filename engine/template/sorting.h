// A stable sort whose comparison may fail, as Python's sorted().
//
//   RETURN_IF_ERROR(SortStably(items, [&](const Value& a, const Value& b) { return IsLess(heap, a, b); }));
#pragma once

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::chat_template {

template <typename Item, typename Less>
absl::Status SortStably(std::vector<Item>& items, Less less) {
  absl::Status failure;
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    if (!failure.ok()) return false;  // the order no longer matters, only that the sort ends
    absl::StatusOr<bool> result = less(a, b);
    if (!result.ok()) {
      failure = result.status();
      return false;
    }
    return *result;
  });
  return failure;
}

}  // namespace inferd::chat_template
