#include "engine/output/utf8_assembler.h"

#include <gtest/gtest.h>

namespace inferd::output {
namespace {

// Feeds the bytes in pieces of the given size.
std::string Assemble(std::string_view bytes, size_t piece) {
  Utf8Assembler assembler;
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += piece) text += assembler.Push(bytes.substr(i, piece));
  return text + assembler.Finish();
}

TEST(Utf8Assembler, HoldsBackAnUnfinishedCharacter) {
  Utf8Assembler assembler;
  EXPECT_EQ(assembler.Push("a\xF0\x9F"), "a");
  EXPECT_EQ(assembler.Push("\x98"), "");
  EXPECT_EQ(assembler.Push("\x80z"), "\xF0\x9F\x98\x80z");
}

TEST(Utf8Assembler, PiecesMakeNoDifference) {
  // Expected: Python 3, bytes.decode("utf-8", errors="replace").
  const struct {
    std::string_view bytes, text;
  } cases[] = {
      {"plain", "plain"},
      {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"\x80", "\xEF\xBF\xBD"},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xF0\x9F\x98", "\xEF\xBF\xBD"},
      {"\xE2\x82x", "\xEF\xBF\xBDx"},
      {"\xE2\x82\xE2\x82\xAC", "\xEF\xBF\xBD\xE2\x82\xAC"},
      {"\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (const auto& c : cases) {
    for (size_t piece = 1; piece <= 5; ++piece) EXPECT_EQ(Assemble(c.bytes, piece), c.text) << "piece " << piece;
  }
}

}  // namespace
}  // namespace inferd::output
