// Hand-written equals of the most common pre-tokenizer patterns, some ten times as fast as the patterns.
//
//   const char* end = ScanGpt2(at, text_end);   // the piece that begins at `at` ends there
//
// Each is equal to the pattern beside which it stands in split_rules.cc on sound UTF-8 (scanners_test.cc compares them
// on random text). A byte that is no UTF-8 counts as a symbol. Time is linear in the length of the text.
#pragma once

namespace inferd::tokenizer {

// The end of the piece that begins at `at`. Needs at < end; the result lies in (at, end].
using Scanner = const char* (*)(const char* at, const char* end);

const char* ScanGpt2(const char* at, const char* end);          // GPT-2's words
const char* ScanCl100k(const char* at, const char* end);        // GPT-4's words, up to three digits
const char* ScanCl100kDigit(const char* at, const char* end);   // the same, single digits
const char* ScanMarkedDigit(const char* at, const char* end);   // the same, marks belong to words (Qwen 3.5)
const char* ScanDigit(const char* at, const char* end);         // \p{N}, and what lies between
const char* ScanThreeDigits(const char* at, const char* end);   // \p{N}{1,3}, and what lies between
const char* ScanNewline(const char* at, const char* end);       // [\r\n], and what lies between

}  // namespace inferd::tokenizer
