// Any text as the name of a part: if it is one, it is written as it was read, and its number is one of its count.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/gguf/split_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view path(reinterpret_cast<const char*>(data), size);
  const auto name = inferd::gguf::ParseSplitName(path);
  if (!name) return 0;
  if (name->number < 1 || name->number > name->count) std::abort();
  if (inferd::gguf::FormatSplitName(*name) != path) std::abort();
  return 0;
}
