// The answer of POST /v1/messages: a message, or the events of a stream that build the same message.
//
//   MessageAnswer answer({.id = "msg_1", .model = "chat", .max_tokens = 100});
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/anthropic/client_names.h"
#include "gateway/api/answer.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

class MessageAnswer : public Answer {
 public:
  struct Options {
    std::string id;
    // As the route names it; the worker's `accepted` overrides it.
    std::string model;
    std::vector<std::string> warnings;
    ClientNames names;
    uint32_t max_tokens = 0;
    // Thoughts come without their text.
    bool omits_thinking = false;
  };
  explicit MessageAnswer(Options options);

  absl::Status Add(uint32_t prompt, const v1::GenerateEvent& event, std::string* stream) override;
  void AppendEnd(std::string& stream) override;
  std::string Body() override;
  std::string NameOf(std::string_view field) const override;

 private:
  enum class Kind { kText, kThinking, kToolUse };
  // Of the message's content, in the order in which the model writes them.
  struct Block {
    Kind kind = Kind::kText;
    // Of a call, its arguments.
    std::string text;
    std::string id;
    std::string name;
    uint32_t call = 0;
  };

  void AddDelta(const v1::Delta& delta, std::string* stream);
  // The block that the delta goes on with; another begins where it has to.
  Block& BlockOf(Kind kind, const v1::ToolCallDelta& call, std::string* stream);
  void EndBlock(std::string& stream);
  // The message as far as it is known, without content.
  boost::json::object Message() const;
  boost::json::object BlockJson(const Block& block) const;
  boost::json::object UsageJson() const;
  std::string_view StopReason() const;

  Options options_;
  std::string fingerprint_;
  std::vector<Block> blocks_;
  bool open_ = false;
  // Tokens of the prompt until `finished_` is known.
  uint32_t prompt_tokens_ = 0;
  std::optional<v1::Finished> finished_;
};

}  // namespace inferd::gateway
