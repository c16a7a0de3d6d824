// An emulated GPU: its memory, and streams that do their work as late as they may.
//
//   Device device({.order = LaneOrder::kRandom, .seed = 7});
//   auto* x = static_cast<float*>(device.Allocate(n * sizeof(float)));   // NaN until written
//   Stream stream(device);
//   stream.Copy(x, host, n * sizeof(float));
//   stream.Launch("Scale", {.x = 4}, {.x = 64}, [=] { Scale(x, 2.0f, n, x); });
//   stream.Copy(host, x, n * sizeof(float));
//   stream.Wait();                                                       // host has the result, not before
//
// Memory of the device can be touched only while a stream works: the host, and kernels that go beyond an allocation or
// use a freed one, die by SIGSEGV. A write into the last bytes before the next multiple of 16 is found at Free, which
// ends the process. One OS thread uses a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "kernels/gpu_emulator/block.h"

namespace inferd::kernels::gpu_emulator {

class Device {
 public:
  explicit Device(Schedule schedule = {}, size_t memory_bytes = size_t{1} << 40)
      : schedule_(schedule), memory_bytes_(memory_bytes) {}
  ~Device();  // all is freed by then, or the process ends
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // At a multiple of 16, the end at inaccessible memory. nullptr where the device is full.
  void* Allocate(size_t bytes);
  void Free(void* memory);  // no stream has work that uses it
  size_t used_bytes() const { return used_bytes_; }
  Schedule schedule() const { return schedule_; }

 private:
  friend class Stream;
  struct Allocation {
    std::byte* mapping;
    size_t mapping_bytes, bytes;
  };
  void Open();   // from now on, memory can be touched
  void Close();  // as often as Open
  void Protect(const Allocation& allocation, int protection) const;

  const Schedule schedule_;
  const size_t memory_bytes_;
  size_t used_bytes_ = 0;
  int open_ = 0;
  std::map<void*, Allocation> allocations_;
};

using Work = std::function<void()>;

// Work of a stream, recorded once and run as often as one likes. Arguments are those of the recording.
class Graph {
 private:
  friend class Stream;
  std::vector<Work> work_;
};

class Stream;

// A place in a stream's work.
class Event {
 private:
  friend class Stream;
  Stream* stream_ = nullptr;
  size_t position_ = 0;
};

class Stream {
 public:
  explicit Stream(Device& device) : device_(device) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void Launch(const char* kernel, Dimensions grid, Dimensions block, Work body);
  void Copy(void* to, const void* from, size_t bytes);  // between host and device, or within
  void Fill(void* to, uint8_t value, size_t bytes);
  void Record(Event& event);
  void WaitFor(const Event& event);  // what is put after this starts after the event; the host does not wait
  void Run(const Graph& graph);

  void BeginCapture();  // until EndCapture, work is recorded, not put
  Graph EndCapture();

  void Wait();  // the host waits for all work so far

 private:
  void Put(Work work);
  void RunUntil(size_t position);

  Device& device_;
  std::deque<Work> pending_;
  size_t done_ = 0;  // of all that was ever put; pending_ follows
  bool capturing_ = false;
  Graph captured_;
};

}  // namespace inferd::kernels::gpu_emulator
