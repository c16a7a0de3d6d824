// Ids of tool calls. They depend on the request alone, so that an answer that goes on in another process has the same
// ones, and consist of nine letters and digits, because Mistral's chat templates refuse others when a call comes back.
//
//   const uint64_t key = CallIdKey(request.seed, request.prompt);
//   std::string id = CallId(key, /*choice=*/0, /*index=*/0);   // "x7Rk02bQw"
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace inferd::worker {

uint64_t CallIdKey(uint64_t seed, std::span<const int32_t> prompt);
std::string CallId(uint64_t key, uint32_t choice, uint32_t index);

}  // namespace inferd::worker
