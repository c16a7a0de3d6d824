// Reads a request out of its body. Large bodies are parsed on threads of their own, so that nobody else's connection
// waits, and within the budget of all bodies, counted in the memory that parsing takes.
//
//   absl::StatusOr<ChatRequest> chat = co_await ParseBody(serving, exchange.request.body, ParseChatRequest);
#pragma once

#include <string_view>
#include <type_traits>

#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/async/work_threads.h"
#include "gateway/json/json_memory.h"
#include "gateway/limits/byte_budget.h"
#include "gateway/serving/serving.h"

namespace inferd::gateway {

// Below it a parse takes less than a hand-over would.
inline constexpr size_t kLargeBodyBytes = 64 * 1024;

// UNAVAILABLE: others' bodies have what there is. INVALID_ARGUMENT: there is never so much.
absl::Status TakeParseMemory(const Serving& serving, std::string_view body, ByteShare& share);

// What `parse` makes of the body, which stays where it is meanwhile, or a status of TakeParseMemory.
template <typename Parse>
Task<std::invoke_result_t<Parse, std::string_view>> ParseBody(const Serving& serving, std::string_view body,
                                                              Parse parse) {
  using Result = std::invoke_result_t<Parse, std::string_view>;
  if (body.size() <= kLargeBodyBytes || serving.parsers == nullptr) co_return parse(body);
  auto work = [&serving, body, parse]() -> Result {
    ByteShare share(serving.bodies);
    if (absl::Status taken = TakeParseMemory(serving, body, share); !taken.ok()) return taken;
    return parse(body);
  };
  co_return co_await RunOn(serving.parsers->executor(), std::move(work));
}

}  // namespace inferd::gateway
