// The answer of POST /v1/chat/completions: chat.completion, or a stream of chat.completion.chunk.
//
//   ChatAnswer answer({.id = "chatcmpl-1", .created_unix_seconds = now, .model = "chat", .choices = 1}, with_logprobs);
#pragma once

#include <string>
#include <vector>

#include "gateway/openai/answers/choices_answer.h"

namespace inferd::gateway {

class ChatAnswer : public ChoicesAnswer {
 public:
  ChatAnswer(AnswerOptions options, bool with_logprobs);

  std::span<const FieldName> FieldNames() const override;

 protected:
  void OnStart(uint32_t choice, std::string* sse) override;
  void OnDelta(uint32_t choice, const v1::Delta& delta, std::string* sse) override;
  void OnFinished(uint32_t choice, const v1::Finished& finished, std::string* sse) override;
  boost::json::object ChoiceJson(uint32_t choice) override;
  std::string_view ObjectName(bool chunk) const override;

 private:
  struct ToolCall {
    std::string id;
    std::string name;
    std::string arguments;
  };
  struct Choice {
    std::string content;
    std::string reasoning;
    std::vector<ToolCall> tool_calls;
    boost::json::array logprobs;
    boost::json::array token_ids;
    std::string_view finish_reason = "stop";
  };

  void Collect(Choice& choice, const v1::Delta& delta);
  void AppendDelta(uint32_t choice, std::string_view delta_json, const v1::Delta* delta, std::string_view finish_reason,
                   std::string& sse);

  const bool with_logprobs_;
  std::vector<Choice> choices_;
  // Of the chunk being made; kept for its memory.
  std::string scratch_;
};

}  // namespace inferd::gateway
