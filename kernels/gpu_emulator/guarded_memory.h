// Memory between pages that cannot be touched: what goes beyond it dies, or is found later.
//
//   GuardedMemory memory = GuardedMemory::Map(bytes, Edge::kEnd);
//   memory.FillUnwritten();
//   ... memory.data() ...
//   if (!memory.Intact()) Fail("...");
//
// One of its ends lies at an inaccessible page, so that access beyond it is a SIGSEGV. At the other end the rest of the
// page is filled, and Intact tells whether somebody wrote there. What rounds the size up to 16 is filled, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inferd::kernels::gpu_emulator {

constexpr uint8_t kUnwritten = 0xFF;  // as float and as half NaN

enum class Edge : uint8_t { kBegin, kEnd };

class GuardedMemory {
 public:
  // data() is nullptr where there is none. At a multiple of 16.
  static GuardedMemory Map(size_t bytes, Edge edge);

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool Has(const void* address) const {  // or its end
    return address >= data_ && address <= data_ + size_;
  }
  void FillUnwritten() const;
  bool Intact() const;
  void Protect(int protection) const;
  // The memory is given back. Its addresses stay taken, so that a later use is found.
  void Retire() const;
  void Unmap() const;

 private:
  std::byte* inside() const;  // between the guards
  size_t inside_bytes() const;

  std::byte *mapping_ = nullptr, *data_ = nullptr;
  size_t mapping_bytes_ = 0, size_ = 0;
};

}  // namespace inferd::kernels::gpu_emulator
