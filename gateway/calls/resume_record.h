// What a generation needs to go on where it is: the request with the seed and time that its first worker chose, and
// what each choice has given so far.
//
//   ResumeRecord record(std::move(request));
//   record.Take(event);                        // each that the consumer gets
//   GenerateCall::Start(worker, record.NextRequest(), ...);
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// INVALID_ARGUMENT: resume_tokens has a choice that the request has not, or one twice.
absl::Status CheckResumeTokens(const v1::GenerateRequest& request);

class ResumeRecord {
 public:
  // `request` may go on where an earlier answer broke off (resume_tokens, which are checked).
  explicit ResumeRecord(v1::GenerateRequest request);

  // True if it got further.
  bool Take(const v1::GenerateEvent& event);
  // What to send to the next worker.
  const v1::GenerateRequest& NextRequest();
  bool all_finished() const;

  // As it came, but for what its first worker chose.
  v1::GenerateRequest& request() { return request_; }

 private:
  struct Choice {
    std::vector<int32_t> ids;
    uint64_t delivered_bytes = 0;
    bool finished = false;
  };
  enum class Begun { kNot, kByTheClient, kHere };

  void Begin(const v1::Accepted& accepted);

  v1::GenerateRequest request_;
  std::map<uint32_t, Choice> choices_;
  // Whether there is anything to go on from, and whose.
  Begun begun_;
};

}  // namespace inferd::gateway
