// A conversation whose texts are replaced by marks, each with its own: what a template makes of it tells which texts it
// would show.
//
//   const MarkedConversation marked(messages);
//   for (const Mark& lost : marked.MissingIn(prompt_of_the_marked_messages)) Say(lost.message, lost.field);
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inferd::conversation {

struct Mark {
  size_t message;     // index of the message whose text it stands for
  std::string field;  // "content", "tool_calls", ...
  bool required;      // false: templates leave such a text out on purpose
};

class MarkedConversation {
 public:
  // Blank texts stay as they are. The arguments of calls are objects or texts (calls.h).
  explicit MarkedConversation(const boost::json::array& messages);

  const boost::json::array& messages() const { return messages_; }
  std::vector<Mark> MissingIn(std::string_view prompt) const;

 private:
  void MarkField(boost::json::object& message, size_t index, std::string_view field, bool required);
  void MarkLeaves(boost::json::value& value, size_t index);
  std::string Add(size_t message, std::string_view field, bool required);

  boost::json::array messages_;
  std::vector<Mark> marks_;
};

}  // namespace inferd::conversation
