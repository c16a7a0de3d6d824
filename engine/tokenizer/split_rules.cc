#include "engine/tokenizer/split_rules.h"

#include <algorithm>

namespace inferd::tokenizer {
namespace {

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "\\s+(?!\\S)|\\s+"
#define NEWLINES "\\s*[\\r\\n]+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES
#define CL100K_TAIL " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" NEWLINES "|" SPACES
#define CL100K_WORD "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define CAPITAL "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(suffix, digits, tail)                                                                            \
  "[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "*" SMALL "+" suffix "|[^\\r\\n\\p{L}\\p{N}]?" CAPITAL "+" SMALL "*" suffix \
  "|\\p{N}" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n" tail "]*|" NEWLINES "|" SPACES
#define ASCII_SYMBOL_WORD "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
#define DEEPSEEK3_WORD ASCII_SYMBOL_WORD "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
#define KIMI_CAPITAL "(?:(?!\\p{sc:Han})" CAPITAL ")"
#define KIMI_SMALL "(?:(?!\\p{sc:Han})" SMALL ")"

constexpr SplitRule kDigit = {"\\p{N}", ScanDigit};
constexpr SplitRule kThreeDigits = {"\\p{N}{1,3}", ScanThreeDigits};
constexpr SplitRule kNumbers = {"\\p{N}+", ScanNumbers};
constexpr SplitRule kNewline = {"[\\r\\n]", ScanNewline};
constexpr SplitRule kLines = {"[^\\n]+|[\\n]+", ScanLines};
constexpr SplitRule kAsciiTriples = {"[0-9][0-9][0-9]", ScanAsciiTriples};
constexpr SplitRule kGpt2 = {GPT2, ScanGpt2};
constexpr SplitRule kCl100kDigit = {CONTRACTION "|" CL100K_WORD "|\\p{N}|" CL100K_TAIL, ScanCl100kDigit};

constexpr SplitRule kGpt2Rules[] = {kGpt2};
constexpr SplitRule kDigitGpt2Rules[] = {kDigit, kGpt2};
constexpr SplitRule kCl100kRules[] = {{CONTRACTION "|" CL100K_WORD "|\\p{N}{1,3}|" CL100K_TAIL, ScanCl100k}};
constexpr SplitRule kCl100kDigitRules[] = {kCl100kDigit};
constexpr SplitRule kO200kRules[] = {{O200K(CONTRACTION "?", "{1,3}", "/"), ScanO200k}};
constexpr SplitRule kTekkenRules[] = {{O200K("", "", "/"), ScanTekken}};

constexpr SplitRule kQwen35Rules[] = {
    {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" NEWLINES
                 "|" SPACES,
     ScanQwen35}};
constexpr SplitRule kSeedCoderRules[] = {
    {CONTRACTION "|" CL100K_WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" NEWLINES "|" SPACES, ScanSeedCoder}};
constexpr SplitRule kUfakzekaRules[] = {{CL100K_WORD "|\\p{N}|" CL100K_TAIL, ScanUfakzeka}};
constexpr SplitRule kLagunaRules[] = {kLines, kCl100kDigit};
constexpr SplitRule kMinicpm5Rules[] = {kThreeDigits,
                                        {CONTRACTION "|" CL100K_WORD "|\\p{N}+|" CL100K_TAIL, ScanCl100kDigits}};
constexpr SplitRule kJais2Rules[] = {
    {CONTRACTION "|" CL100K_WORD "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" NEWLINES
                 "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)"
                 "|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"}};
// A letter, and then letters with at most one space before each: possessive, for nothing follows that needs them back.
constexpr SplitRule kExaoneMoeRules[] = {
    {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}\\p{M}*+(?: ?\\p{L}\\p{M}*+)*+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?"
                 "|\\s*[\\r\\n]|" SPACES,
     ScanExaoneMoe}};

// Punctuation and the two digit steps of falcon's tokenizer.json; the latter work on letters of the byte alphabet.
constexpr SplitRule kFalconRules[] = {{"[\\p{P}$+<=>^~|`]+"}, kGpt2, {"", ScanByteDigits}, kAsciiTriples};
constexpr SplitRule kDefaultRules[] = {{"[\\p{P}$+<=>^~|]+"}, kGpt2, kNumbers, kAsciiTriples};

constexpr SplitRule kBloom = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"};
constexpr SplitRule kBloomRules[] = {kBloom};
constexpr SplitRule kVikingRules[] = {kBloom, kDigit};

constexpr SplitRule kDeepseekHan = {"[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"};
constexpr SplitRule kDeepseekLlmRules[] = {
    kNewline,
    // Letters with case, as the Unicode of their time had them.
    {"\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}\\x{295}-"
     "\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-"
     "\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-"
     "\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}"
     "\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-"
     "\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}"
     "\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-"
     "\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}"
     "\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}"
     "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}"
     "\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-"
     "\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}"
     "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}"
     "\\x{1E900}-\\x{1E943}]+"},
    {"\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"},
    {"(?<!\\s)\\s++\\z"},  // \s+$, which would look at each tail of a run of spaces
    kDeepseekHan,
    kNumbers};
constexpr SplitRule kDeepseekCoderRules[] = {kNewline, {"\\s?\\p{L}+"}, {"\\s?\\p{P}+"}, kDeepseekHan, kDigit};
constexpr SplitRule kCjkKana = {"[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"};
constexpr SplitRule kDeepseek3Rules[] = {kThreeDigits, kCjkKana, {DEEPSEEK3_WORD "[\\r\\n]*|" NEWLINES "|" SPACES}};
constexpr SplitRule kSparkRules[] = {kThreeDigits, kCjkKana, {DEEPSEEK3_WORD "|[\\r\\n]|" SPACES}, kDigit};
constexpr SplitRule kAfmoeRules[] = {
    {"", ScanThousands},
    {"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}\\x{FF65}-"
     "\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-"
     "\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+"},
    {DEEPSEEK3_WORD "[\\r\\n]*|" NEWLINES "|" SPACES}};

constexpr SplitRule kYoutuRules[] = {
    {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}"
     "\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|[\\x{4E00}-"
     "\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"},
    {O200K(CONTRACTION "?", "", "/"), ScanO200kDigit}};
constexpr SplitRule kTinyAyaRules[] = {
    {"\\d{1,3}(?=(?:\\d{3})*(?![\\p{L}\\p{M}\\p{N}\\p{Pc}]))", ScanBoundedThousands},  // (?=(?:\d{3})*\b)
    {O200K(CONTRACTION "?", "{1,3}", "/"), ScanO200k}};
constexpr SplitRule kSuperbpeRules[] = {kNumbers, {"(?=(\\d{3})+(?!\\d))", ScanThousandCuts}};
constexpr SplitRule kKimiRules[] = {{"\\p{sc:Han}+|[^\\r\\n\\p{L}\\p{N}]?" KIMI_CAPITAL "*" KIMI_SMALL "+" CONTRACTION
                                     "?|[^\\r\\n\\p{L}\\p{N}]?" KIMI_CAPITAL "+" KIMI_SMALL "*" CONTRACTION
                                     "?|\\p{N}{1,3}|" CL100K_TAIL,
                                     ScanKimiK2}};
constexpr SplitRule kChameleonRules[] = {{"<sentinel:[0-9]+>"},      {"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"},
                                         {"([\\t\\n]|    |  )"},     kDigit,
                                         {"[\\p{P}!-/:-@\\[-`{-~]"}, kGpt2};
constexpr SplitRule kPlainLinesRules[] = {kLines};

constexpr SplitFamily kFamilies[] = {
    {.names = "gpt-2 phi-2 mpt olmo jais trillion exaone4 modern-bert mellum gigachat a.x-4.0 granite-docling "
              "roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code",
     .rules = kGpt2Rules},
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2", .rules = kDigitGpt2Rules},
    {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .rules = kCl100kRules,
     .whole_words_first = true,
     .adds_bos = true},
    {.names = "glm4 glm5", .rules = kCl100kRules, .whole_words_first = true},
    {.names = "dbrx smaug-bpe chatglm-bpe", .rules = kCl100kRules},
    {.names = "qwen2 deepseek-r1-qwen stablelm2 hunyuan megrez grok-2 kormo solar-open f2llmv2 bailingmoe bailingmoe2 "
              "llada-moe",
     .rules = kCl100kDigitRules},
    {.names = "qwen35", .rules = kQwen35Rules},
    {.names = "seed-coder", .rules = kSeedCoderRules},
    {.names = "ufakzeka", .rules = kUfakzekaRules},
    {.names = "laguna", .rules = kLagunaRules},
    {.names = "minicpm5", .rules = kMinicpm5Rules, .whole_words_first = true},
    {.names = "jais-2", .rules = kJais2Rules},
    {.names = "exaone-moe", .rules = kExaoneMoeRules},
    {.names = "gpt-4o llama4 kanana2 talkie minimax-m2", .rules = kO200kRules},
    {.names = "granite-embed-multi-97m", .rules = kO200kRules, .whole_words_first = true},
    {.names = "tekken", .rules = kTekkenRules, .whole_words_first = true, .adds_bos = true},
    {.names = "tiny_aya cohere2moe", .rules = kTinyAyaRules},
    {.names = "youtu", .rules = kYoutuRules, .whole_words_first = true},
    {.names = "kimi-k2", .rules = kKimiRules},
    {.names = "superbpe", .rules = kSuperbpeRules},
    {.names = "falcon", .rules = kFalconRules},
    {.names = "default", .rules = kDefaultRules},
    {.names = "bloom poro-chat gpt3-finnish", .rules = kBloomRules},
    {.names = "viking", .rules = kVikingRules},
    {.names = "deepseek-llm", .rules = kDeepseekLlmRules},
    {.names = "deepseek-coder", .rules = kDeepseekCoderRules},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4", .rules = kDeepseek3Rules},
    {.names = "spark2_5", .rules = kSparkRules},
    {.names = "afmoe", .rules = kAfmoeRules},
    {.names = "chameleon", .rules = kChameleonRules, .adds_bos = true},
    {.names = "gemma4 granite-embed-multi-311m", .rules = kPlainLinesRules, .adds_bos = true, .plain_text = true},
    {.names = "sarvam-moe", .rules = kPlainLinesRules, .plain_text = true},
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
