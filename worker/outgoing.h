// The events of one call between the engine's queue and gRPC. Only a few are here at a time: what a slow reader leaves
// is in the queue, where its bound counts.
//
//   Outgoing outgoing(model);
//   while (std::optional<v1::GenerateEvent> event = outgoing.Next(queue)) ...   // nullopt: nothing waits
//   outgoing.Drop(queue);                                                       // nobody reads any more
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "engine/generation/event_queue.h"
#include "inferd/v1/inference.pb.h"
#include "worker/event_writer.h"

namespace inferd::worker {

class Outgoing {
 public:
  explicit Outgoing(const LoadedModel& model) : writer_(model) {}

  std::optional<v1::GenerateEvent> Next(engine::EventQueue& queue);
  void Drop(engine::EventQueue& queue);

  // As of what was taken from the queue; of choices that were cut off too.
  uint32_t prompt_tokens() const { return prompt_tokens_; }
  uint32_t completion_tokens() const { return completion_tokens_; }

 private:
  void Count(const engine::Event& event);

  const EventWriter writer_;
  std::deque<v1::GenerateEvent> events_;
  uint32_t prompt_tokens_ = 0, completion_tokens_ = 0;
  std::map<uint32_t, uint32_t> counted_;  // tokens of choices that have not finished
};

}  // namespace inferd::worker
