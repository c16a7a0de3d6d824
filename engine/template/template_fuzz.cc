// Any bytes as a template and, behind a zero byte, as the JSON of its context: an error or a prompt, within the limits.
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "engine/template/chat_template.h"

namespace {

using inferd::chat_template::ChatTemplate;
using inferd::chat_template::Limits;
using inferd::chat_template::RenderedPrompt;

constexpr std::string_view kDefaultContext =
    R"({"messages": [{"role": "user", "content": "Hi <|x|> é"}, {"role": "assistant", "content": null,
        "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.5}}}]}], "tools": [], "t": true})";

boost::json::object ContextOf(std::string_view text) {
  boost::json::error_code error;
  boost::json::value json = boost::json::parse({text.data(), text.size()}, error);
  if (error || !json.is_object()) json = boost::json::parse({kDefaultContext.data(), kDefaultContext.size()});
  return json.as_object();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  // Small limits: what is slow is found as well, and the fuzzer tries more.
  const Limits limits{.steps = 200'000, .string_bytes = 1 << 20, .memory_bytes = 16 << 20};
  const auto chat = ChatTemplate::Parse(input.substr(0, zero), limits);
  if (!chat.ok()) return 0;
  const boost::json::object context = ContextOf(zero == input.npos ? std::string_view() : input.substr(zero + 1));
  const auto prompt = (*chat)->Render(context, {{"bos_token", "<s>"}}, std::tm{});
  if (!prompt.ok()) return 0;
  size_t bytes = 0;
  for (size_t i = 0; i < prompt->runs.size(); ++i) {
    const RenderedPrompt::Run& run = prompt->runs[i];
    if (run.text.empty() || (i > 0 && run.trusted == prompt->runs[i - 1].trusted)) std::abort();
    bytes += run.text.size();
  }
  if (bytes > limits.string_bytes) std::abort();
  return 0;
}
