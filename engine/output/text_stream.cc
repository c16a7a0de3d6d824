// The stages of the header, one after the other.
#include "engine/output/text_stream.h"

#include <algorithm>
#include <iterator>

namespace inferd::output {

TextStream::TextStream(TextStreamOptions options)
    : matcher_(std::move(options.stops), options.include_stop),
      parser_(std::move(options.parser)),
      min_tokens_(options.min_tokens),
      to_skip_(options.delivered_bytes) {}

std::vector<OutputPart> TextStream::Push(std::string_view token_bytes) {
  const std::string text = assembler_.Push(token_bytes);
  const bool searched = ++tokens_ > min_tokens_;
  return WithoutDelivered(parser_->Push(searched ? matcher_.Push(text) : text));
}

std::vector<OutputPart> TextStream::Finish() {
  std::vector<OutputPart> parts;
  if (!stopped()) {
    std::string rest = matcher_.Push(assembler_.Finish());
    if (!stopped()) rest += matcher_.Finish();
    parts = parser_->Push(rest);
  }
  std::vector<OutputPart> last = parser_->Finish();
  std::move(last.begin(), last.end(), std::back_inserter(parts));
  return WithoutDelivered(std::move(parts));
}

std::vector<OutputPart> TextStream::WithoutDelivered(std::vector<OutputPart> parts) {
  if (to_skip_ == 0) return parts;
  const auto skip = [this](std::string& text) {
    size_t size = std::min<uint64_t>(to_skip_, text.size());
    to_skip_ -= size;
    // A count that ends within a character is a caller's mistake; what we give stays whole characters.
    while (size > 0 && size < text.size() && (text[size] & 0xC0) == 0x80) ++size;
    text.erase(0, size);
  };
  for (OutputPart& part : parts) {
    for (std::string* text : {&part.text, &part.tool_call.id, &part.tool_call.name, &part.tool_call.arguments}) {
      skip(*text);
    }
  }
  std::erase_if(parts, [](const OutputPart& part) {
    const ToolCallPart& call = part.tool_call;
    return part.text.empty() && call.id.empty() && call.name.empty() && call.arguments.empty();
  });
  return parts;
}

}  // namespace inferd::output
