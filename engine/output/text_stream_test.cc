#include "engine/output/text_stream.h"

#include <gtest/gtest.h>

namespace inferd::output {
namespace {

TextStream Stream(std::vector<std::string> stops, uint32_t min_tokens = 0, uint64_t delivered_bytes = 0) {
  return TextStream({.stops = *StopTexts::Create(stops),
                     .min_tokens = min_tokens,
                     .delivered_bytes = delivered_bytes,
                     .parser = MakeContentParser()});
}

std::string Text(const std::vector<OutputPart>& parts) {
  std::string text;
  for (const OutputPart& part : parts) text += part.text;
  return text;
}

TEST(TextStream, GivesWholeCharactersAndHoldsBackPossibleStops) {
  TextStream stream = Stream({"###"});
  EXPECT_EQ(Text(stream.Push("a\xC3")), "a");
  EXPECT_EQ(Text(stream.Push("\xA4#")), "\xC3\xA4");
  EXPECT_EQ(Text(stream.Push("#b")), "##b");
  EXPECT_EQ(Text(stream.Push("c##")), "c");
  EXPECT_EQ(Text(stream.Finish()), "##");
  EXPECT_FALSE(stream.stopped());
}

TEST(TextStream, EndsBeforeAStopText) {
  TextStream stream = Stream({"END"});
  EXPECT_EQ(Text(stream.Push("the E")), "the ");
  EXPECT_EQ(Text(stream.Push("ND and more")), "");
  EXPECT_EQ(stream.stopped(), "END");
  EXPECT_EQ(Text(stream.Finish()), "");
}

TEST(TextStream, StopTextsAreHeldOffBeforeMinTokens) {
  TextStream stream = Stream({"x"}, /*min_tokens=*/2);
  EXPECT_EQ(Text(stream.Push("x")), "x");
  EXPECT_EQ(Text(stream.Push("x")), "x");
  EXPECT_EQ(Text(stream.Push("x")), "");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, AResumedStreamGivesTheBytesAfterThoseDelivered) {
  const std::vector<std::string> tokens = {"Gr", "\xC3", "\xBC", "\xC3\x9F", "e E", "N", "Q and", " on"};
  TextStream whole = Stream({"END"});
  std::string expected;
  for (const std::string& token : tokens) expected += Text(whole.Push(token));
  for (size_t delivered = 0; delivered <= expected.size(); ++delivered) {
    TextStream resumed = Stream({"END"}, 0, delivered);
    std::string text;
    for (const std::string& token : tokens) text += Text(resumed.Push(token));
    size_t begin = delivered;  // within a character: after it
    while (begin < expected.size() && (expected[begin] & 0xC0) == 0x80) ++begin;
    EXPECT_EQ(text, expected.substr(begin));
  }
}

}  // namespace
}  // namespace inferd::output
