// A model's chat template: the Jinja subset of real templates, evaluated as Python's jinja2 does with the settings of
// the transformers library (trim_blocks, lstrip_blocks, loop controls, generation blocks).
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ChatTemplate> chat, ChatTemplate::Parse(source, {}));
//   ASSIGN_OR_RETURN(RenderedPrompt prompt, chat->Render(context, now));
//
// A template is untrusted: steps, output and depth are bounded, and nothing but the given context exists.
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
  uint64_t steps = 10'000'000;         // evaluated nodes
  uint64_t output_bytes = 64u << 20;   // also of any string made on the way
  uint32_t depth = 200;                // nesting of expressions, macros and blocks
};

// The text in runs: what the template wrote is trusted, what came from the context (messages, tools) is not. Variables
// named in `Render`'s `trusted_variables` count as written by the template.
struct RenderedPrompt {
  struct Run {
    std::string text;
    bool trusted;
  };
  std::vector<Run> runs;  // no two neighbours of equal trust
  std::string Text() const;
};

class ChatTemplate {
 public:
  // INVALID_ARGUMENT with line and column.
  static absl::StatusOr<std::unique_ptr<ChatTemplate>> Parse(std::string_view source, Limits limits);
  virtual ~ChatTemplate() = default;

  // `context` holds messages, tools, add_generation_prompt, bos_token, ...; `now` is what strftime_now formats (local
  // time fields). INVALID_ARGUMENT: the template raised an exception or used a value wrongly (with line);
  // RESOURCE_EXHAUSTED: a limit.
  virtual absl::StatusOr<RenderedPrompt> Render(const boost::json::object& context, const std::tm& now) const = 0;
};

}  // namespace inferd::chat_template
