// Text on standard output and standard error. A write that fails does not throw, as fmt::print does: for standard
// output it is seen once, at the end of the program (FinishOutput).
//
//   Print("{} models\n", count);
//   PrintStderr("inferd: {}\n", message);
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace inferd {

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

template <typename... Args>
void PrintStderr(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace inferd
