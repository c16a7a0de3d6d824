// Where a step's work on a prompt stops, of a model with a recurrent state: until the sequence ends, the prefix cache
// keeps the state only where a step ends at a page's end.
//
//   TokensToLastPage(/*first=*/0, /*tokens=*/100, /*page_tokens=*/64)   // 64: a text with this beginning finds them
//   StopAtPage(/*first=*/180, /*count=*/90, /*page_tokens=*/64)         // 76: to 256
//
// With page_tokens 0 nothing stops early: other models' pages serve wherever they end.
#pragma once

#include <cstdint>

namespace inferd::scheduler {

// Tokens from `first` on to the end of the last page that another text like this one can use, or to the end of all
// `tokens` if that is passed: the last token must be computed by everybody.
int64_t TokensToLastPage(int64_t first, int64_t tokens, int64_t page_tokens);

// Of the `count` tokens from `first` on, those to the last page's end, where they go past a fourth page: now and then
// a long prompt leaves a state, in steps of any size, and loses less than a page of a step by it.
int64_t StopAtPage(int64_t first, int64_t count, int64_t page_tokens);

}  // namespace inferd::scheduler
