#include "engine/cache/mapping.h"

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

}  // namespace inferd::cache
