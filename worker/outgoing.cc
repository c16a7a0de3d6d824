// See the header: a few events are enough for deltas to be joined.
#include "worker/outgoing.h"

#include <utility>

namespace inferd::worker {
namespace {

constexpr size_t kMostEvents = 8;

}  // namespace

std::optional<v1::GenerateEvent> Outgoing::Next(engine::EventQueue& queue) {
  while (events_.size() < kMostEvents) {
    std::optional<engine::Event> event = queue.Pop();
    if (!event) break;
    Count(*event);
    writer_.Append(*std::move(event), events_);
  }
  if (events_.empty()) return std::nullopt;
  v1::GenerateEvent next = std::move(events_.front());
  events_.pop_front();
  return next;
}

void Outgoing::Drop(engine::EventQueue& queue) {
  while (std::optional<engine::Event> event = queue.Pop()) Count(*event);
  events_.clear();
}

void Outgoing::Count(const engine::Event& event) {
  if (const auto* accepted = std::get_if<engine::Accepted>(&event)) prompt_tokens_ = accepted->prompt_tokens;
  if (const auto* finished = std::get_if<engine::Finished>(&event)) {
    // Also what a resumed choice had before.
    completion_tokens_ += finished->usage.completion_tokens - std::exchange(counted_[finished->choice], 0);
  }
  if (const auto* delta = std::get_if<engine::Delta>(&event)) {
    const auto tokens = static_cast<uint32_t>(delta->tokens.size());
    counted_[delta->choice] += tokens;
    completion_tokens_ += tokens;
  }
}

}  // namespace inferd::worker
