// What the engine needs of a tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace inferd::engine {

struct Vocabulary {
  int32_t size = 0;
  std::vector<int32_t> end_of_generation;                  // ascending
  std::function<std::string(int32_t token)> token_bytes;   // text that a token gives; control tokens give none
};

}  // namespace inferd::engine
