#include "engine/tokenizer/split_rules.h"

#include <algorithm>

namespace inferd::tokenizer {
namespace {

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES
#define CL100K(digits) \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" SPACES

constexpr SplitRule kDigit = {"\\p{N}", ScanDigit};
constexpr SplitRule kGpt2 = {GPT2, ScanGpt2};

constexpr SplitRule kGpt2Rules[] = {kGpt2};
constexpr SplitRule kDigitsThenGpt2Rules[] = {kDigit, kGpt2};
constexpr SplitRule kCl100kRules[] = {{CL100K("{1,3}"), ScanCl100k}};
constexpr SplitRule kCl100kDigitRules[] = {{CL100K(""), ScanCl100kDigit}};

constexpr SplitFamily kFamilies[] = {
    {.names = "gpt-2", .rules = kGpt2Rules},
    {.names = "smollm", .rules = kDigitsThenGpt2Rules},
    {.names = "llama-bpe", .rules = kCl100kRules, .whole_words_first = true, .adds_bos = true},
    {.names = "qwen2", .rules = kCl100kDigitRules},
};

bool HasName(std::string_view names, std::string_view name) {
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(' ', begin), names.size());
    if (names.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

const SplitFamily* FindSplitFamily(std::string_view pre) {
  for (const SplitFamily& family : kFamilies) {
    if (HasName(family.names, pre)) return &family;
  }
  return nullptr;
}

std::span<const SplitFamily> SplitFamilies() { return kFamilies; }

}  // namespace inferd::tokenizer
