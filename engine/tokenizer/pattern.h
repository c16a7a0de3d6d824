// A compiled PCRE2 pattern over UTF-8, matched with the JIT and within bounds of work.
//
//   ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile("\\p{L}+"));
//   RETURN_IF_ERROR(pattern.ForEachMatch(text, [&](size_t begin, size_t end) { ... }));
//
// Characters have their Unicode properties; \s is the property White_Space, as in Rust, Oniguruma and Python.
// Bytes that are no UTF-8 match nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace inferd::tokenizer {

class Pattern {
 public:
  // INVALID_ARGUMENT with the place in the pattern that is wrong.
  static absl::StatusOr<Pattern> Compile(std::string_view expression);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // Matches from left to right that do not overlap, as byte offsets; begin == end for an empty match.
  // RESOURCE_EXHAUSTED if one match takes more steps than any sound text needs.
  absl::Status ForEachMatch(std::string_view text, absl::FunctionRef<void(size_t begin, size_t end)> match) const;

 private:
  struct Compiled;
  absl::Status MatchSound(std::string_view text, void* match_data,
                          absl::FunctionRef<void(size_t begin, size_t end)> match) const;
  explicit Pattern(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace inferd::tokenizer
