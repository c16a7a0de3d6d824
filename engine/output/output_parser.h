// What the text of an answer means: content for the reader, reasoning before it, or calls of tools. A parser gets the
// text in pieces of any size and gives its parts in order.
//
//   std::unique_ptr<OutputParser> parser = MakeContentParser();
//   for (OutputPart& part : parser->Push("Hello")) Send(part);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inferd::output {

enum class PartKind : uint8_t { kContent, kReasoning, kToolCall };

struct ToolCallPart {
  uint32_t index = 0;     // of the call in the answer
  std::string id, name;   // set in the first part of a call
  std::string arguments;  // next piece of the JSON arguments
};

struct OutputPart {
  PartKind kind = PartKind::kContent;
  std::string text;        // of content and reasoning
  ToolCallPart tool_call;  // of kToolCall
};

class OutputParser {
 public:
  virtual ~OutputParser() = default;
  virtual std::vector<OutputPart> Push(std::string_view text) = 0;
  virtual std::vector<OutputPart> Finish() = 0;
  virtual bool has_tool_calls() const = 0;
  // Nothing more will be given, whatever the model writes.
  virtual bool ended() const { return false; }
};

// All text is content.
std::unique_ptr<OutputParser> MakeContentParser();

}  // namespace inferd::output
