// The engine's events as the wire has them.
//
//   EventWriter writer(model);
//   std::deque<v1::GenerateEvent> outgoing;
//   writer.Append(std::move(event), outgoing);      // joins the delta that waits before it, if it can
#pragma once

#include <deque>

#include "engine/generation/event.h"
#include "worker/loaded_model.h"

namespace inferd::v1 {
class GenerateEvent;
class TokenLogprob;
}  // namespace inferd::v1

namespace inferd::worker {

class EventWriter {
 public:
  explicit EventWriter(const LoadedModel& model) : model_(model) {}

  void Append(engine::Event event, std::deque<v1::GenerateEvent>& outgoing) const;

 private:
  void AppendAccepted(const engine::Accepted& accepted, std::deque<v1::GenerateEvent>& outgoing) const;
  void AppendDelta(engine::Delta delta, std::deque<v1::GenerateEvent>& outgoing) const;
  void AppendFinished(engine::Finished finished, std::deque<v1::GenerateEvent>& outgoing) const;
  void WriteToken(int32_t token, v1::TokenLogprob& wire) const;
  void WriteLogprob(const sampling::TokenLogprob& entry, v1::TokenLogprob& wire) const;

  const LoadedModel& model_;
};

}  // namespace inferd::worker
