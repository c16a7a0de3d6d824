// How much memory a JSON text takes while it is parsed, before anybody parses it.
//
//   if (!share.GrowTo(MostJsonMemory(body))) ...   // there is no room for it now
#pragma once

#include <cstdint>
#include <string_view>

namespace inferd::gateway {

// In bytes, beside the text itself: no less than ParseJsonObject takes at its peak, of any text.
uint64_t MostJsonMemory(std::string_view text);

}  // namespace inferd::gateway
