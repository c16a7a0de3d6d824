// Hand-written equals of the common pre-tokenizer patterns, several times as fast as the patterns.
//
//   std::vector<uint32_t> ends;
//   ScanGpt2("Hello there", 0, ends);   // {5, 11}
//
// Each is equal to the pattern beside which it stands in split_rules.cc on sound UTF-8 (split_rules_test.cc compares
// them on random text). A byte that is no UTF-8 counts as a symbol. Time is linear in the length of the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferd::tokenizer {

// Appends where the pieces of `text` end, each plus `offset`, in bytes; the last is the end of the text.
using Scanner = void (*)(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);

// Words of GPT-2 and GPT-4 (cl100k), the latter with runs of three, one or any number of digits.
void ScanGpt2(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanCl100k(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanCl100kDigit(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanCl100kDigits(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanQwen35(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);     // marks belong to words
void ScanSeedCoder(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);  // no newlines behind symbols
void ScanUfakzeka(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);   // no contractions

// Words of GPT-4o (o200k), which end where a capital follows a small letter.
void ScanO200k(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanO200kDigit(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);
void ScanTekken(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);  // no contractions
void ScanKimiK2(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);  // runs of Han by themselves

// Words joined by single spaces.
void ScanExaoneMoe(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);

// Pieces of one kind, and what lies between them.
void ScanDigit(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);         // \p{N}
void ScanThreeDigits(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);   // \p{N}{1,3}
void ScanNumbers(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);       // \p{N}+
void ScanNewline(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);       // [\r\n]
void ScanLines(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);         // [^\n]+|[\n]+
void ScanAsciiTriples(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);  // [0-9][0-9][0-9]
// Bytes whose letters in the byte alphabet are numbers: 0 to 9 and \xB2 \xB3 \xB9 \xBC \xBD \xBE, in runs.
void ScanByteDigits(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);

// Runs of digits, cut into groups of three that are counted from the right: 12 345 678.
void ScanThousands(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);         // numbers, isolated
void ScanThousandCuts(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);      // (?=(\d{3})+(?!\d))
void ScanBoundedThousands(std::string_view text, uint32_t offset, std::vector<uint32_t>& ends);  // no word behind them

}  // namespace inferd::tokenizer
