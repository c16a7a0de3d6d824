#include "kernels/gpu_emulator/stream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace inferd::kernels::gpu_emulator {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "gpu emulator: %s\n", what);
  std::abort();
}

// Whether it lies on the device; ends the process if it does and goes beyond an allocation.
bool OnDevice(const Device& device, const void* begin, size_t bytes) {
  const GuardedMemory* const memory = device.Find(begin);
  if (memory == nullptr) return false;
  if (!memory->Has(static_cast<const std::byte*>(begin) + bytes)) Fail("a copy goes beyond an allocation");
  return true;
}

}  // namespace

Stream::~Stream() {
  if (capturing_) Fail("a stream is destroyed while work is captured");
  if (!queue_->pending.empty()) Fail("a stream is destroyed with work that nobody waited for");
}

void Stream::Copy(void* to, const void* from, size_t bytes) {
  Put([=, &device = device_] {
    const bool to_device = OnDevice(device, to, bytes), from_device = OnDevice(device, from, bytes);
    if (!to_device && !from_device) Fail("a copy from the host to the host");
    std::memcpy(to, from, bytes);
  });
}

void Stream::Fill(void* to, uint8_t value, size_t bytes) {
  Put([=, &device = device_] {
    if (!OnDevice(device, to, bytes)) Fail("Fill of memory that is not the device's");
    std::memset(to, value, bytes);
  });
}

void Stream::Record(Event& event) {
  if (capturing_) Fail("Record while work is captured");
  event.queue_ = queue_;
  event.position_ = queue_->done + queue_->pending.size();
}

void Stream::WaitFor(const Event& event) {
  if (capturing_) Fail("WaitFor while work is captured");
  if (event.queue_ == nullptr) return;  // never recorded, as the device has it
  Put([&device = device_, queue = event.queue_, position = event.position_] { RunUntil(device, *queue, position); });
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
  RunUntil(device_, *queue_, queue_->done + queue_->pending.size());
}

void Stream::Put(Work work) {
  if (capturing_) {
    captured_.work_.push_back(std::move(work));
  } else {
    queue_->pending.push_back(std::move(work));
  }
}

void Stream::RunUntil(Device& device, WorkQueue& queue, size_t position) {
  device.Open();
  while (queue.done < position) {
    const Work work = std::move(queue.pending.front());
    queue.pending.pop_front();
    ++queue.done;
    work();
    ++device.work_done_;
  }
  device.Close();
}

// An array of pointers has an allocation to its end: all of them are looked at, but for those that nobody wrote.
void Stream::CheckPointer(const Device& device, const char* kernel, const void* pointer, bool to_pointers) {
  const GuardedMemory* const memory = device.Find(pointer);
  if (memory == nullptr) {
    std::fprintf(stderr, "gpu emulator: kernel %s: an argument points to memory that is not the device's\n", kernel);
    std::abort();
  }
  if (!to_pointers) return;
  const std::byte* const end = memory->data() + memory->size();
  for (const auto* at = static_cast<const std::byte*>(pointer); at + sizeof(uintptr_t) <= end;
       at += sizeof(uintptr_t)) {
    uintptr_t address;
    std::memcpy(&address, at, sizeof(address));
    const bool unwritten = address == ~uintptr_t{0};
    if (address == 0 || unwritten || device.Find(reinterpret_cast<const void*>(address)) != nullptr) continue;
    std::fprintf(stderr, "gpu emulator: kernel %s: an array of pointers has one that is not to the device's memory\n",
                 kernel);
    std::abort();
  }
}

}  // namespace inferd::kernels::gpu_emulator
