#include "engine/output/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "config/base/status.h"

namespace inferd::output {
namespace {

struct Result {
  std::string text;
  std::optional<std::string> stopped;
  bool operator==(const Result&) const = default;
};

Result Match(const std::vector<std::string>& stops, std::string_view text, size_t piece, bool include = false) {
  StopMatcher matcher(*StopTexts::Create(stops), include);
  Result result;
  for (size_t i = 0; i < text.size() && !matcher.stopped(); i += piece)
    result.text += matcher.Push(text.substr(i, piece));
  if (!matcher.stopped()) result.text += matcher.Finish();
  result.stopped = matcher.stopped();
  return result;
}

// The definition: the text that is complete first; of those complete at the same byte the longest.
Result Defined(const std::vector<std::string>& stops, std::string_view text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    const std::string* best = nullptr;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && (best == nullptr || stop.size() > best->size())) best = &stop;
    }
    if (best != nullptr) return {std::string(text.substr(0, end - best->size())), *best};
  }
  return {std::string(text), std::nullopt};
}

TEST(StopMatcher, EqualsTheDefinitionOnRandomTexts) {
  std::mt19937 random(3);
  const auto word = [&](size_t longest) {
    std::string text(1 + random() % longest, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops(1 + random() % 4);
    for (std::string& stop : stops) stop = word(6);
    const std::string text = word(30);
    ASSERT_EQ(Match(stops, text, 1 + random() % 5), Defined(stops, text)) << text;
  }
}

TEST(StopMatcher, HoldsBackNoMoreThanAPossibleStop) {
  StopMatcher matcher(*StopTexts::Create({"aab"}));
  EXPECT_EQ(matcher.Push("xaa"), "x");
  EXPECT_EQ(matcher.Push("a"), "a");
  EXPECT_EQ(matcher.Push("c"), "aac");
}

TEST(StopMatcher, WithoutStopTextsAllPasses) {
  StopMatcher matcher(*StopTexts::Create({}));
  EXPECT_EQ(matcher.Push("anything"), "anything");
}

TEST(StopMatcher, RefusesTextsOutOfRange) {
  EXPECT_EQ(MessageOf(StopTexts::Create({"a", ""}).status()), "stop: text 1 has 0 bytes, expected 1 to 256");
  EXPECT_FALSE(StopTexts::Create({std::string(257, 'a')}).ok());
  EXPECT_TRUE(StopTexts::Create({std::string(256, 'a')}).ok());
  EXPECT_EQ(MessageOf(StopTexts::Create(std::vector<std::string>(17, "a")).status()),
            "stop: 17 texts, expected at most 16");
}

TEST(StopMatcher, GivesTheStopTextWhereItIsPartOfTheOutput) {
  for (size_t piece : {1, 2, 3, 20}) {
    const Result shown = Match({"END", "x"}, "The EN ENDED", piece, /*include=*/true);
    EXPECT_EQ(shown.text, "The EN END");
    EXPECT_EQ(shown.stopped, "END");
  }
}

}  // namespace
}  // namespace inferd::output
