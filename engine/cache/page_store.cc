#include "engine/cache/page_store.h"

#include "config/base/status.h"

namespace inferd::cache {

int32_t PageStore::Allocate(int32_t group) {
  CHECK(free_blocks_ >= BlocksOf(group));
  if (free_pages_.empty()) {
    free_pages_.push_back(static_cast<int32_t>(pages_.size()));
    pages_.emplace_back();
  }
  const int32_t id = free_pages_.back();
  free_pages_.pop_back();
  pages_[id] = {.group = group, .references = 1};
  free_blocks_ -= BlocksOf(group);
  memory_.Allocate(id, group);
  return id;
}

void PageStore::Reference(int32_t page) {
  Page& p = pages_[page];
  if (OnlyCached(p)) cached_blocks_ -= BlocksOf(p.group);
  ++p.references;
}

void PageStore::Unreference(int32_t page) {
  Page& p = pages_[page];
  CHECK(p.references > 0);
  if (--p.references > 0) {
    if (OnlyCached(p)) cached_blocks_ += BlocksOf(p.group);
    return;
  }
  CHECK(!p.indexed);
  free_blocks_ += BlocksOf(p.group);
  memory_.Free(page);
  free_pages_.push_back(page);
}

void PageStore::SetIndexed(int32_t page, bool indexed) {
  Page& p = pages_[page];
  const bool before = OnlyCached(p);
  p.indexed = indexed;
  const bool after = OnlyCached(p);
  cached_blocks_ += (static_cast<int64_t>(after) - static_cast<int64_t>(before)) * BlocksOf(p.group);
}

}  // namespace inferd::cache
