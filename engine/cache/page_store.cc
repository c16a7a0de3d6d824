// Blocks are handed out from a stack, so that recently used (and thus resident) memory is used again first.
#include "engine/cache/page_store.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "config/base/status.h"

namespace inferd::cache {
namespace {

// Neighbouring mappings share the system's huge pages of 2 MiB.
constexpr int64_t kLeastHugeBytes = 1 << 20;

}  // namespace

absl::StatusOr<Mapping> Mapping::Create(int64_t bytes) {
  Mapping mapping;
  if (bytes == 0) return mapping;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return ResourceExhausted("kv_cache: cannot map {} bytes: {}", bytes, std::strerror(errno));
  // Rows of activations lie a small page or more apart, and their address translations would not fit in the TLB.
  if (bytes >= kLeastHugeBytes) madvise(data, bytes, MADV_HUGEPAGE);  // a wish, whose refusal changes nothing
  mapping.data_ = static_cast<uint8_t*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

absl::StatusOr<std::unique_ptr<PageStore>> PageStore::Create(std::vector<int32_t> layers_of_group, int64_t block_bytes,
                                                             int64_t total_bytes) {
  auto store = std::unique_ptr<PageStore>(new PageStore);
  store->layers_of_group_ = std::move(layers_of_group);
  store->block_bytes_ = block_bytes;
  if (block_bytes > 0) {
    store->total_blocks_ = total_bytes / block_bytes;
    ASSIGN_OR_RETURN(store->memory_, Mapping::Create(store->total_blocks_ * block_bytes));
    store->free_blocks_.reserve(store->total_blocks_);
    for (int64_t i = store->total_blocks_ - 1; i >= 0; --i) store->free_blocks_.push_back(static_cast<uint32_t>(i));
  }
  return store;
}

int32_t PageStore::Allocate(int32_t group) {
  CHECK(free_blocks() >= BlocksOf(group));
  if (free_pages_.empty()) {
    free_pages_.push_back(static_cast<int32_t>(pages_.size()));
    pages_.emplace_back();
  }
  const int32_t id = free_pages_.back();
  free_pages_.pop_back();
  Page& page = pages_[id];
  page.group = group;
  page.references = 1;
  page.indexed = false;
  page.blocks.assign(free_blocks_.end() - BlocksOf(group), free_blocks_.end());
  free_blocks_.resize(free_blocks_.size() - page.blocks.size());
  return id;
}

void PageStore::Reference(int32_t page) {
  Page& p = pages_[page];
  if (OnlyCached(p)) cached_blocks_ -= static_cast<int64_t>(p.blocks.size());
  ++p.references;
}

void PageStore::Unreference(int32_t page) {
  Page& p = pages_[page];
  CHECK(p.references > 0);
  if (--p.references > 0) {
    if (OnlyCached(p)) cached_blocks_ += static_cast<int64_t>(p.blocks.size());
    return;
  }
  CHECK(!p.indexed);
  free_blocks_.insert(free_blocks_.end(), p.blocks.begin(), p.blocks.end());
  p.blocks.clear();
  free_pages_.push_back(page);
}

void PageStore::SetIndexed(int32_t page, bool indexed) {
  Page& p = pages_[page];
  const bool before = OnlyCached(p);
  p.indexed = indexed;
  const bool after = OnlyCached(p);
  cached_blocks_ +=
      (static_cast<int64_t>(after) - static_cast<int64_t>(before)) * static_cast<int64_t>(p.blocks.size());
}

void* PageStore::Block(int32_t page, int32_t layer_in_group) const {
  return memory_.data() + static_cast<int64_t>(pages_[page].blocks[layer_in_group]) * block_bytes_;
}

void PageStore::CopyPage(int32_t from, int32_t to) const {
  for (int32_t layer = 0; layer < static_cast<int32_t>(pages_[from].blocks.size()); ++layer) {
    std::memcpy(Block(to, layer), Block(from, layer), block_bytes_);
  }
}

}  // namespace inferd::cache
