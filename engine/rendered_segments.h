// A rendered prompt as the tokenizer takes it: special tokens are parsed in the template's own text alone.
//
//   ASSIGN_OR_RETURN(chat_template::RenderedPrompt prompt, chat_template->Render(request, variables, now));
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.EncodeSegments(SegmentsOf(std::move(prompt))));
#pragma once

#include <utility>
#include <vector>

#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::engine {

inline std::vector<tokenizer::Segment> SegmentsOf(chat_template::RenderedPrompt prompt) {
  std::vector<tokenizer::Segment> segments;
  for (chat_template::RenderedPrompt::Run& run : prompt.runs) {
    segments.push_back({.text = std::move(run.text), .trusted = run.trusted});
  }
  return segments;
}

}  // namespace inferd::engine
