// Turns the bytes of tokens into whole UTF-8 characters: what a token leaves unfinished waits for the next one.
//
//   Utf8Assembler assembler;
//   assembler.Push("\xC3");      // ""
//   assembler.Push("\xA4!");     // "ä!"
//   assembler.Finish();          // "" (U+FFFD if a character was unfinished)
//
// Bytes that can be part of no character become U+FFFD, one for each maximal part of a character (Unicode 15, section
// 3.9, "U+FFFD substitution of maximal subparts"), as Python and browsers do.
#pragma once

#include <string>
#include <string_view>

namespace inferd::output {

class Utf8Assembler {
 public:
  std::string Push(std::string_view bytes);
  std::string Finish();

 private:
  std::string pending_;  // at most 3 bytes: a character's beginning
};

}  // namespace inferd::output
