// The way from a choice's tokens to what a client reads: bytes, whole characters, stop texts, parts.
//
//   TextStream stream({.stops = stops, .min_tokens = 0, .delivered_bytes = 0, .parser = MakeContentParser()});
//   std::vector<OutputPart> parts = stream.Push(tokenizer.TokenBytes(token, false));   // one call a token
//   if (stream.stopped()) ...                              // the stop text; nothing more comes
//   parts = stream.Finish();                               // what was held back
//
// A request that goes on after a crash pushes the tokens that it had and gives no byte that was delivered before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/output/output_parser.h"
#include "engine/output/stop_matcher.h"
#include "engine/output/utf8_assembler.h"

namespace inferd::output {

struct TextStreamOptions {
  std::shared_ptr<const StopTexts> stops;
  bool include_stop = false;     // the stop text is given, too
  uint32_t min_tokens = 0;       // text of the tokens before this many is not searched for stop texts
  uint64_t delivered_bytes = 0;  // of text, and of ids, names and arguments of tool calls: not given again
  std::unique_ptr<OutputParser> parser;
};

class TextStream {
 public:
  explicit TextStream(TextStreamOptions options);

  std::vector<OutputPart> Push(std::string_view token_bytes);
  std::vector<OutputPart> Finish();

  const std::optional<std::string>& stopped() const { return matcher_.stopped(); }
  bool has_tool_calls() const { return parser_->has_tool_calls(); }
  bool ended() const { return parser_->ended(); }  // no text can come any more

 private:
  std::vector<OutputPart> WithoutDelivered(std::vector<OutputPart> parts);

  Utf8Assembler assembler_;
  StopMatcher matcher_;
  std::unique_ptr<OutputParser> parser_;
  uint32_t min_tokens_;
  uint32_t tokens_ = 0;
  uint64_t to_skip_;
};

}  // namespace inferd::output
