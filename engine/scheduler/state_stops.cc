// States are large and few are kept, so that a long prompt leaves one about every kPages pages.
#include "engine/scheduler/state_stops.h"

namespace inferd::scheduler {
namespace {

constexpr int64_t kPages = 4;

}  // namespace

int64_t TokensToLastPage(int64_t first, int64_t tokens, int64_t page_tokens) {
  const int64_t last = page_tokens == 0 ? 0 : (tokens - 1) / page_tokens * page_tokens;
  return (first < last ? last : tokens) - first;
}

int64_t StopAtPage(int64_t first, int64_t count, int64_t page_tokens) {
  const int64_t end = first + count, often = kPages * page_tokens;
  if (page_tokens == 0 || end / often == first / often) return count;
  return end / page_tokens * page_tokens - first;
}

}  // namespace inferd::scheduler
