// Finds the end of a JSON value in text that arrives in pieces.
//
//   JsonScan scan;
//   size_t end = scan.End(text, begin);   // again with more text behind: what was read is not read twice
#pragma once

#include <cstddef>
#include <string_view>

namespace inferd::output {

class JsonScan {
 public:
  // Behind the object, list or string that begins at `begin`; npos: its end is not there yet. Brackets are counted, not
  // matched by kind: whether it is JSON is for a parser to say.
  size_t End(std::string_view text, size_t begin);

 private:
  size_t read_ = 0;  // of the value
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool ended_ = false;
};

// The same for text that is complete.
inline size_t EndOfJson(std::string_view text, size_t begin) { return JsonScan().End(text, begin); }

}  // namespace inferd::output
