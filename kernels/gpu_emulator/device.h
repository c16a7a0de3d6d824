// The memory of an emulated GPU, which streams (stream.h) work on.
//
//   Device device({.order = LaneOrder::kRandom, .seed = 7});
//   auto* x = static_cast<float*>(device.Allocate(n * sizeof(float)));   // NaN until written
//   ... stream.Launch("Scale", Scale, {.x = 4}, {.x = 64}, x, 2.0f, n, x) ...
//   device.Free(x);
//
// It can be touched only while a stream works. The host, and kernels that use freed memory or go beyond its end, die by
// SIGSEGV; in LaneOrder::kBackward also those that go beyond its beginning, while the end is free up to the next page.
// Writes there are found at Free, which ends the process. One OS thread uses a device.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>

#include "kernels/gpu_emulator/block.h"
#include "kernels/gpu_emulator/guarded_memory.h"

namespace inferd::kernels::gpu_emulator {

class Device {
 public:
  explicit Device(Schedule schedule = {}, size_t memory_bytes = size_t{1} << 40)
      : schedule_(schedule), memory_bytes_(memory_bytes) {}
  ~Device();  // all is freed by then, or the process ends
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void* Allocate(size_t bytes);  // at a multiple of 16; nullptr where the device is full
  void Free(void* memory);       // no stream has work that uses it
  size_t used_bytes() const { return used_bytes_; }
  Schedule schedule() const { return schedule_; }
  uint64_t work_done() const { return work_done_; }  // of all streams; any thread may ask

  // The allocation that the address, which may be its end, belongs to; nullptr: none, as of memory of the host.
  const GuardedMemory* Find(const void* address) const;

 private:
  friend class Stream;
  void Open();   // from now on, memory can be touched
  void Close();  // as often as Open

  const Schedule schedule_;
  const size_t memory_bytes_;
  size_t used_bytes_ = 0;
  int open_ = 0;
  std::atomic<uint64_t> work_done_ = 0;
  std::map<const void*, GuardedMemory> allocations_;
};

}  // namespace inferd::kernels::gpu_emulator
