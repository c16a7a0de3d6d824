// Lines of bounded width, as Python's textwrap cuts them.
//
//   ASSIGN_OR_RETURN(std::vector<Text> lines, WrapLine(heap, paragraph, {.width = 40}));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/heap.h"

namespace inferd::chat_template {

struct WrapOptions {
  int64_t width = 79;  // code points
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

absl::StatusOr<std::vector<Text>> WrapLine(Heap& heap, const Text& paragraph, const WrapOptions& options);

}  // namespace inferd::chat_template
