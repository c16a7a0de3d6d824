// Text of clients for error messages and warnings, which are JSON: valid UTF-8 whatever bytes the client sent.
//
//   NotFound("the model '{}' does not exist", ValidText(name, 128));
#pragma once

#include <string>
#include <string_view>

namespace inferd::gateway {

// The whole characters among the first `most` bytes; each byte that is no part of a character becomes U+FFFD.
std::string ValidText(std::string_view bytes, size_t most = std::string_view::npos);

}  // namespace inferd::gateway
