// One conversation with a model: what was said, and the streamed answer to the next message.
//
//   Conversation conversation(channel, {.model = "chat"});
//   absl::Status status = conversation.Ask("Hello!", [](std::string_view text) { Print(text); }, interrupts);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace grpc {
class Channel;
}

namespace inferd::daemon {

struct ChatOptions {
  std::string model;
  std::string system;
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
  std::optional<uint32_t> max_tokens;
  // Sent as "authorization: Bearer KEY" where it is not empty.
  std::string key;
};

struct AnswerFacts {
  uint32_t completion_tokens = 0;
  double first_token_seconds = 0;
  double decode_seconds = 0;
  bool interrupted = false;
  bool cut_at_limit = false;
};

class Conversation {
 public:
  Conversation(std::shared_ptr<grpc::Channel> channel, ChatOptions options);

  // Gives the answer to `on_text` as it comes. An interrupt (readable `interrupts`, a signalfd) ends the answer, which
  // stays in the conversation as far as it went. After an error the message is forgotten.
  absl::Status Ask(const std::string& message, const std::function<void(std::string_view)>& on_text, int interrupts);

  void Reset() { turns_.clear(); }
  void SetSystem(std::string text) { options_.system = std::move(text); }
  void SetModel(std::string name) { options_.model = std::move(name); }
  // Of the newest answer.
  const AnswerFacts& facts() const { return facts_; }

 private:
  struct Turn {
    std::string question, answer;
  };
  const std::shared_ptr<grpc::Channel> channel_;
  ChatOptions options_;
  std::vector<Turn> turns_;
  AnswerFacts facts_;
};

}  // namespace inferd::daemon
