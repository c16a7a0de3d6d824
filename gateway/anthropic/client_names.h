// Where things of a GenerateRequest stood in the body of a request for a message: for errors and warnings of the
// worker.
//
//   names.messages.push_back("messages[1].content[0]");   // of prompt.messages(0)
//   names.NameOf("chat.messages[0].content") == "messages[1].content[0].content"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace inferd::gateway {

struct ClientNames {
  // The place of each message of the prompt: a turn may make several of them, and the system text makes one.
  std::vector<std::string> messages;
  // Of the field that binds the answer's form; empty: there is none.
  std::string_view constraint;

  // What the client calls a field of the contract; itself where it has no name for it.
  std::string NameOf(std::string_view field) const;
  // The same status with the field at fault as the client calls it.
  absl::Status Rename(const absl::Status& status) const;
};

}  // namespace inferd::gateway
