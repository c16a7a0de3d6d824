// A deque under a mutex, with an estimate of its memory.
#include "engine/generation/event_queue.h"

#include "config/base/status.h"

namespace inferd::engine {
namespace {

size_t SizeOf(const std::vector<sampling::TokenLogprob>& logprobs) {
  size_t bytes = 0;
  for (const auto& entry : logprobs) bytes += sizeof(entry) + entry.top.size() * sizeof(sampling::Alternative);
  return bytes;
}

size_t SizeOf(const Event& event) {
  size_t bytes = sizeof(Event);
  if (const auto* delta = std::get_if<Delta>(&event)) {
    bytes += delta->tokens.size() * sizeof(int32_t) + SizeOf(delta->logprobs) + SizeOf(delta->prompt_logprobs);
    for (const auto& part : delta->parts) bytes += sizeof(part) + part.text.size() + part.tool_call.arguments.size();
  }
  return bytes;
}

}  // namespace

bool EventQueue::Push(Event event) {
  bool fits = false;
  {
    absl::MutexLock lock(&mutex_);
    if (status_) return false;
    const size_t bytes = SizeOf(event);
    // One event always finds room: the log-probabilities of a whole prompt may be larger than the bound.
    fits = events_.empty() || bytes_ + bytes <= capacity_bytes_;
    if (fits) {
      bytes_ += bytes;
      events_.push_back(std::move(event));
    } else {
      // Ends here and now: a later event that found room again would hide the gap.
      status_ = Cancelled("the reader has fallen too far behind");
    }
  }
  on_change_();
  return fits;
}

void EventQueue::Close(absl::Status status) {
  {
    absl::MutexLock lock(&mutex_);
    if (status_) return;
    status_ = std::move(status);
  }
  on_change_();
}

std::optional<Event> EventQueue::Pop() {
  absl::MutexLock lock(&mutex_);
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  bytes_ -= std::min(bytes_, SizeOf(event));
  return event;
}

std::optional<absl::Status> EventQueue::End() {
  absl::MutexLock lock(&mutex_);
  return events_.empty() ? status_ : std::nullopt;
}

}  // namespace inferd::engine
