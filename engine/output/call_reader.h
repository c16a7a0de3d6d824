// Reads a call while a model writes it: the name as soon as it is known, then the arguments piece by piece.
//
//   std::unique_ptr<CallReader> reader = MakeCallReader(syntax, tools, /*known_only=*/false);
//   CallReader::State state = reader->Read(text, at, sink);        // again with more text behind `at`
//
// The text is that behind the mark that opens a call. What a reader makes of it does not depend on how it was cut.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "engine/output/answer_format.h"
#include "engine/output/tool_schemas.h"

namespace inferd::output {

// Who is told of calls.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void BeginCall(std::string name) = 0;
  virtual void AddArguments(std::string_view piece) = 0;  // of the call that began last
  virtual void EndCall() = 0;
};

class CallReader {
 public:
  enum class State {
    kMore,    // what is left of the text waits for more
    kDone,    // the calls have ended; the mark that closes them is left
    kNoCall,  // and nothing was told
  };
  virtual ~CallReader() = default;
  // From text[at] on; moves `at` behind what was read.
  virtual State Read(std::string_view text, size_t& at, CallSink& sink) = 0;
  // Whether what was read, which has told nothing yet, is the beginning of a call rather than other text.
  virtual bool LooksLikeCall() const { return true; }
};

// `known_only`: the JSON of anything but a tool's call is no call.
std::unique_ptr<CallReader> MakeCallReader(const CallSyntax& syntax, ToolSchemas tools, bool known_only);

// The readers of some bodies.
std::unique_ptr<CallReader> MakeJsonCallReader(const CallSyntax& syntax, ToolSchemas tools, bool known_only);
std::unique_ptr<CallReader> MakeNamedCallReader(const CallSyntax& syntax);
std::unique_ptr<CallReader> MakeTaggedCallReader(const CallSyntax& syntax, ToolSchemas tools);
std::unique_ptr<CallReader> MakeLiteralCallReader(const CallSyntax& syntax);

}  // namespace inferd::output
