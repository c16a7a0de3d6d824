// Answers that have choices, as OpenAI's do: ChatAnswer and TextAnswer give them the shapes of their endpoints.
//
//   answer.Add(prompt_index, event, &sse);      // streamed: appends "data: {...}\n\n" lines
//   answer.AppendEnd(sse);                      // usage, then data: [DONE]
//   std::string body = answer.Body();           // not streamed
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gateway/api/answer.h"
#include "gateway/api/field_names.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct AnswerOptions {
  // "chatcmpl-..." or "cmpl-..."
  std::string id;
  int64_t created_unix_seconds = 0;
  // As the route names it; the worker's `accepted` overrides it.
  std::string model;
  std::vector<std::string> warnings;
  // As in GenerationFields.
  std::string_view constraint_name;
  bool include_usage = false;
  bool return_token_ids = false;
  // Choices of each prompt; the choice of the answer is prompt * choices + choice of the event.
  uint32_t choices = 1;
  uint32_t prompts = 1;
};

class ChoicesAnswer : public Answer {
 public:
  explicit ChoicesAnswer(AnswerOptions options);

  absl::Status Add(uint32_t prompt, const v1::GenerateEvent& event, std::string* sse) override;
  void AppendEnd(std::string& sse) override;
  std::string Body() override;
  std::string NameOf(std::string_view field) const override;

  const v1::Usage& usage() const { return usage_; }

 protected:
  // `choice` is the answer's.
  virtual void OnStart(uint32_t choice, std::string* sse) = 0;
  virtual void OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) = 0;
  virtual void OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) = 0;
  virtual boost::json::object ChoiceJson(uint32_t choice) = 0;
  // "chat.completion.chunk" for `chunk`, else "chat.completion".
  virtual std::string_view ObjectName(bool chunk) const = 0;
  // Of the endpoint.
  virtual std::span<const FieldName> FieldNames() const = 0;

  // One line of the stream whose only choice is `choice_json`.
  void AppendChunk(std::string_view choice_json, std::string& sse);

  const AnswerOptions options_;

 private:
  void TakeAccepted(uint32_t prompt, const v1::Accepted& accepted);
  void TakeFinished(const v1::Finished& finished);
  // Everything before the choices, made once: `data: {"id":...,"choices":[`.
  const std::string& ChunkStart();
  boost::json::object Header(bool chunk) const;

  std::string model_;
  std::string fingerprint_;
  std::string chunk_start_;
  std::vector<std::string> warnings_;  // of the gateway and of the worker
  bool warned_ = false;
  v1::Usage usage_;
  v1::Timings timings_;
};

// stop, length, tool_calls; "stop" for what has no name there.
std::string_view FinishReason(v1::Finished::Reason reason);

// {"prompt_tokens","completion_tokens","total_tokens","prompt_tokens_details"}
boost::json::object UsageJson(const v1::Usage& usage);

// Times in seconds, and tokens_per_second of the decoding.
boost::json::object TimingsJson(const v1::Timings& timings, const v1::Usage& usage);

// JSON has no infinity: a probability of 0 is shown as OpenAI does.
double FiniteLogprob(double logprob);

}  // namespace inferd::gateway
