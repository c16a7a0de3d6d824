// Text on standard output and standard error. A write that fails does not throw, as fmt::print does: for standard
// output it is seen once, at the end of the program (FinishOutput).
//
//   Print("{} models\n", count);
//   PrintError("inferd", MessageOf(status));
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
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

// Text of others (a model, a file, a peer) for a terminal: control characters, but for newline and tab, and bytes that
// are no UTF-8 become U+FFFD.
std::string Printable(std::string_view text);

// "program: message" as a line on standard error, printable.
void PrintError(std::string_view program, std::string_view message);

}  // namespace inferd
