// What a token is, as tokenizer.ggml.token_type numbers it.
#pragma once

#include <cstdint>

namespace inferd::tokenizer {

enum class TokenKind : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

}  // namespace inferd::tokenizer
