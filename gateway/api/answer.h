// An answer in the making, in the form of one API: takes the events of one or more generations and gives either the
// records of a stream or, at the end, one whole body.
//
//   answer.Add(prompt_index, event, &stream);   // streamed: appends the records that the event makes
//   answer.AppendEnd(stream);
//   std::string body = answer.Body();           // not streamed
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inferd::v1 {
class GenerateEvent;
}

namespace inferd::gateway {

class Answer {
 public:
  virtual ~Answer() = default;

  // With `stream` the event becomes records of a stream, without it part of Body(). The error of a choice that failed.
  virtual absl::Status Add(uint32_t prompt, const v1::GenerateEvent& event, std::string* stream) = 0;
  // After the last event of a stream.
  virtual void AppendEnd(std::string& stream) = 0;
  // After the last event.
  virtual std::string Body() = 0;
  // What the client calls a field of the contract, for errors of the worker.
  virtual std::string NameOf(std::string_view field) const = 0;
};

}  // namespace inferd::gateway
