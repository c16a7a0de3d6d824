// Standard output of the verbs. A failed write is seen once, at the end of the program (FinishOutput).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace inferd::tools {

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace inferd::tools
