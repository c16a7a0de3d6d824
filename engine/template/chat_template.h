// A model's chat template: the Jinja language of real templates, evaluated as Python's jinja2 does with the settings of
// the transformers library (immutable sandbox, trim_blocks, lstrip_blocks, loop controls, generation blocks).
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ChatTemplate> chat, ChatTemplate::Parse(source));
//   ASSIGN_OR_RETURN(RenderedPrompt prompt, chat->Render(request, model, now));
//   for (const RenderedPrompt::Run& run : prompt.runs) Encode(run.text, /*parse_special=*/run.trusted);
//
// A template is untrusted: steps, memory, string sizes and depth are bounded, and nothing but the given context exists.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::chat_template {

struct Limits {
  uint64_t steps = 10'000'000;         // evaluated nodes, visited elements and 64-byte pieces of text
  uint64_t string_bytes = 64u << 20;   // of the output and of any string made on the way
  uint64_t memory_bytes = 256u << 20;  // of all values alive at once
  uint32_t depth = 400;                // nesting of evaluation: expressions, blocks, macros
};

// The text in runs: what the template (or the model's own variables) wrote is trusted, what came with the request is
// not, however it was cut, joined or escaped on the way. Special tokens may be parsed in trusted runs alone.
struct RenderedPrompt {
  struct Run {
    std::string text;
    bool trusted;
  };
  std::vector<Run> runs;  // none empty, no two neighbours of equal trust
  std::string Text() const;
};

// Thread-safe: one parsed template serves concurrent renders.
class ChatTemplate {
 public:
  // INVALID_ARGUMENT with line and column: not a template, or it names a filter or a test that does not exist.
  static absl::StatusOr<std::unique_ptr<ChatTemplate>> Parse(std::string_view source, const Limits& limits = {});
  virtual ~ChatTemplate() = default;

  // `request` holds messages, tools, add_generation_prompt and the like; its texts are untrusted. `model` holds what
  // the model's file declares (bos_token, eos_token, ...): trusted, and hidden by an equal name in `request`. `now` is
  // what strftime_now formats (local time fields). INVALID_ARGUMENT with line and column: the template raised an
  // exception or used a value wrongly; RESOURCE_EXHAUSTED: a limit.
  virtual absl::StatusOr<RenderedPrompt> Render(const boost::json::object& request, const boost::json::object& model,
                                                const std::tm& now) const = 0;
};

}  // namespace inferd::chat_template
