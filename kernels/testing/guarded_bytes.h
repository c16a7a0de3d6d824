// Memory that ends where an unreadable page begins, as a mapped file may: a kernel that reads or writes beyond it is
// killed.
//
//   const GuardedBytes weights(bytes);
//   kernels.dequantize_row(type, weights.data(), k, out);
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace inferd::kernels::testing {

class GuardedBytes {
 public:
  // Begins at 64-byte alignment where `size` is a multiple of it; all zero.
  explicit GuardedBytes(size_t size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (size + page - 1) / page * page;
    size_ = readable + page;
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) std::abort();
    base_ = static_cast<uint8_t*>(base);
    if (mprotect(base_ + readable, page, PROT_NONE) != 0) std::abort();
    begin_ = base_ + readable - size;
  }
  explicit GuardedBytes(const std::vector<uint8_t>& bytes) : GuardedBytes(bytes.size()) {
    std::memcpy(begin_, bytes.data(), bytes.size());
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(base_, size_); }

  uint8_t* data() { return begin_; }
  const uint8_t* data() const { return begin_; }

 private:
  uint8_t *base_, *begin_;
  size_t size_;
};

}  // namespace inferd::kernels::testing
