#include "engine/template/fallbacks.h"

namespace inferd::chat_template {
namespace {

struct Fallback {
  std::string_view name;
  std::string_view source;
};

// Content is a string, or a list of parts of which the texts count.
constexpr std::string_view kChatMl = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}
      {{- part.text -}}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\n' + text_of(message.content) + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kLlama2 = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content | trim -}}
  {%- elif content -%}
    {%- for part in content if part.type == 'text' -%}
      {{- part.text -}}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set turns = messages -%}
{%- set system = '' -%}
{%- if messages and messages[0].role == 'system' -%}
  {%- set turns = messages[1:] -%}
  {%- set system = '<<SYS>>\n' + text_of(messages[0].content) + '\n<</SYS>>\n\n' -%}
{%- endif -%}
{%- for message in turns -%}
  {%- if message.role != ('user' if loop.index0 is even else 'assistant') -%}
    {{- raise_exception('after an optional system message, user and assistant must take turns') -}}
  {%- endif -%}
  {%- if message.role == 'user' -%}
    {{- bos_token + '[INST] ' + (system if loop.first else '') + text_of(message.content) + ' [/INST]' -}}
  {%- else -%}
    {{- ' ' + text_of(message.content) + ' ' + eos_token -}}
  {%- endif -%}
{%- endfor -%}
)jinja";

constexpr Fallback kFallbacks[] = {{"chatml", kChatMl}, {"llama2", kLlama2}};

}  // namespace

std::optional<std::string_view> FindFallback(std::string_view name) {
  for (const Fallback& fallback : kFallbacks) {
    if (fallback.name == name) return fallback.source;
  }
  return std::nullopt;
}

std::string FallbackNames() {
  std::string names;
  for (const Fallback& fallback : kFallbacks) names.append(names.empty() ? "" : ", ").append(fallback.name);
  return names;
}

}  // namespace inferd::chat_template
