#include "kernels/gpu_emulator/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace inferd::kernels::gpu_emulator {
namespace {

constexpr size_t kPageBytes = 4096, kAlignment = 16;
constexpr uint8_t kUnwritten = 0xFF;

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "gpu emulator: %s\n", what);
  std::abort();
}

}  // namespace

Device::~Device() {
  if (!allocations_.empty()) Fail("memory of the device was not freed");
}

void* Device::Allocate(size_t bytes) {
  if (bytes > memory_bytes_ - used_bytes_) return nullptr;
  const size_t aligned = RoundUp(std::max(bytes, kAlignment), kAlignment), inside = RoundUp(aligned, kPageBytes);
  const size_t mapping_bytes = inside + 2 * kPageBytes;
  void* const mapping = mmap(nullptr, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const Allocation allocation{static_cast<std::byte*>(mapping), mapping_bytes, bytes};
  std::byte* const memory = allocation.mapping + kPageBytes + inside - aligned;
  Protect(allocation, PROT_READ | PROT_WRITE);
  std::memset(memory, kUnwritten, aligned);
  if (open_ == 0) Protect(allocation, PROT_NONE);
  used_bytes_ += bytes;
  allocations_.emplace(memory, allocation);
  return memory;
}

void Device::Free(void* memory) {
  if (memory == nullptr) return;
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) Fail("Free of memory that is not allocated");
  const Allocation allocation = found->second;
  Protect(allocation, PROT_READ);
  const auto* const bytes = static_cast<const uint8_t*>(memory);
  for (size_t i = allocation.bytes; i < RoundUp(allocation.bytes, kAlignment); ++i) {
    if (bytes[i] != kUnwritten) Fail("a kernel wrote beyond an allocation");
  }
  // The addresses stay taken, so that a later use is found. The memory itself is given back.
  Protect(allocation, PROT_NONE);
  madvise(allocation.mapping, allocation.mapping_bytes, MADV_DONTNEED);
  used_bytes_ -= allocation.bytes;
  allocations_.erase(found);
}

void Device::Protect(const Allocation& allocation, int protection) const {
  if (mprotect(allocation.mapping + kPageBytes, allocation.mapping_bytes - 2 * kPageBytes, protection) != 0) {
    Fail("mprotect failed");
  }
}

void Device::Open() {
  if (open_++ > 0) return;
  for (const auto& [memory, allocation] : allocations_) Protect(allocation, PROT_READ | PROT_WRITE);
}

void Device::Close() {
  if (--open_ > 0) return;
  for (const auto& [memory, allocation] : allocations_) Protect(allocation, PROT_NONE);
}

void Stream::Launch(const char* kernel, Dimensions grid, Dimensions block, Work body) {
  Put([=, schedule = device_.schedule(), body = std::move(body)] { RunGrid(kernel, grid, block, schedule, body); });
}

void Stream::Copy(void* to, const void* from, size_t bytes) {
  Put([=] { std::memcpy(to, from, bytes); });
}

void Stream::Fill(void* to, uint8_t value, size_t bytes) {
  Put([=] { std::memset(to, value, bytes); });
}

void Stream::Record(Event& event) {
  if (capturing_) Fail("Record while work is captured");
  event.stream_ = this;
  event.position_ = done_ + pending_.size();
}

void Stream::WaitFor(const Event& event) {
  if (event.stream_ == nullptr) return;  // never recorded, as the device has it
  Put([stream = event.stream_, position = event.position_] { stream->RunUntil(position); });
}

void Stream::Run(const Graph& graph) {
  for (const Work& work : graph.work_) Put(work);
}

void Stream::BeginCapture() {
  if (capturing_) Fail("BeginCapture while work is captured");
  capturing_ = true;
}

Graph Stream::EndCapture() {
  if (!capturing_) Fail("EndCapture without BeginCapture");
  capturing_ = false;
  return std::exchange(captured_, {});
}

void Stream::Wait() {
  if (capturing_) Fail("Wait while work is captured");
  RunUntil(done_ + pending_.size());
}

void Stream::Put(Work work) {
  if (capturing_) {
    captured_.work_.push_back(std::move(work));
  } else {
    pending_.push_back(std::move(work));
  }
}

void Stream::RunUntil(size_t position) {
  device_.Open();
  while (done_ < position) {
    const Work work = std::move(pending_.front());
    pending_.pop_front();
    ++done_;
    work();
  }
  device_.Close();
}

}  // namespace inferd::kernels::gpu_emulator
