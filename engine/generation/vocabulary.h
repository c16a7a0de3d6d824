// What the engine needs of a tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace inferd::engine {

struct Vocabulary {
  int32_t size = 0;
  std::vector<int32_t> end_of_generation;  // ascending
  // Text that a token gives; control tokens give none unless `with_special`.
  std::function<std::string(int32_t token, bool with_special)> token_bytes;
};

}  // namespace inferd::engine
