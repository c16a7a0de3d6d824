// Chat templates for model files that have none. They are used only where the configuration names one: a wrong guess
// would give wrong answers.
//
//   if (std::optional<std::string_view> source = FindFallback("chatml")) ChatTemplate::Parse(*source);
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferd::chat_template {

// "chatml": <|im_start|>role ... <|im_end|>. "llama2": [INST] ... [/INST] with the system message in the first turn.
std::optional<std::string_view> FindFallback(std::string_view name);
std::string FallbackNames();  // "chatml, llama2": for messages

}  // namespace inferd::chat_template
