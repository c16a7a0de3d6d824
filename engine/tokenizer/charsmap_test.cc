#include "engine/tokenizer/charsmap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace inferd::tokenizer {
namespace {

// A double array with room for every node: node n has its value in unit n*512 and its child of byte b in n*512 + b.
std::vector<uint8_t> MakeCharsmap(const std::map<std::string, std::string>& replacements) {
  std::map<std::string, uint32_t> nodes = {{"", 1}};
  for (const auto& [key, replacement] : replacements) {
    for (size_t length = 1; length <= key.size(); ++length) {
      nodes.emplace(key.substr(0, length), static_cast<uint32_t>(nodes.size() + 1));
    }
  }
  std::vector<uint32_t> units((nodes.size() + 1) * 512, 0x80000000U);
  units[0] = 512U >> 8 << 10 | 1U << 9;  // the offset of the root, in units of 256
  std::string texts;
  for (const auto& [prefix, node] : nodes) {
    if (prefix.empty()) continue;
    const uint8_t byte = static_cast<uint8_t>(prefix.back());
    const uint32_t place = nodes[prefix.substr(0, prefix.size() - 1)] * 512 + byte;
    units[place] = (place ^ node * 512) << 10 | byte;
    const auto replacement = replacements.find(prefix);
    if (replacement == replacements.end()) continue;
    units[place] |= 1U << 8;
    units[node * 512] = 0x80000000U | static_cast<uint32_t>(texts.size());
    texts += replacement->second;
    texts.push_back('\0');
  }
  const uint32_t bytes = static_cast<uint32_t>(units.size() * 4);
  std::vector<uint8_t> result(4 + bytes + texts.size());
  std::memcpy(result.data(), &bytes, 4);
  std::memcpy(result.data() + 4, units.data(), bytes);
  std::memcpy(result.data() + 4 + bytes, texts.data(), texts.size());
  return result;
}

TEST(Charsmap, ReplacesTheLongestPrefixes) {
  const std::vector<uint8_t> bytes = MakeCharsmap({{"A", "a"}, {"AB", "x"}, {"\t", " "}, {"\x01", ""}});
  const auto map = Charsmap::Create(bytes);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->Normalize("A\tB\x01"
                           "AB中"),
            "a Bx中");
  EXPECT_EQ(map->Normalize("a\xFF"), "a\uFFFD");
}

TEST(Charsmap, LooksBehindAsciiThatAloneStaysAsItIs) {
  const std::vector<uint8_t> bytes = MakeCharsmap({{"a\u0301", "á"}, {"bc", "x"}, {"\r\n", "\n"}});
  const auto map = Charsmap::Create(bytes);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->Normalize("zaa\u0301a"), "zaáa");
  EXPECT_EQ(map->Normalize("bbcb\r\r\nb"), "bxb\r\nb");
  EXPECT_EQ(map->Normalize(std::string_view("a\0bc", 4)), std::string_view("a\0x", 3));
}

TEST(Charsmap, IgnoresEntriesThatPointOutside) {
  std::vector<uint8_t> bytes = MakeCharsmap({{"A", "a"}});
  for (size_t at = 4; at + 4 < bytes.size(); ++at) {
    std::vector<uint8_t> broken = bytes;
    broken[at] ^= 0xFF;
    const auto map = Charsmap::Create(broken);
    if (!map.ok()) continue;
    EXPECT_TRUE(map->Normalize("A中").ends_with("中")) << at;
  }
}

TEST(Charsmap, WithoutAMapKeepsText) {
  const auto map = Charsmap::Create({});
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->Normalize("Ａﬁ"), "Ａﬁ");
}

}  // namespace
}  // namespace inferd::tokenizer
