#include "gateway/json/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

TEST(JsonText, ReadsAnObject) {
  auto object = ParseJsonObject(R"({"a": 1, "b": {"a": [true, null, "\u00e9\ud83d\ude00"]}})");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->at("a"), 1);
  EXPECT_EQ(object->at("b").at("a").at(2), "\xC3\xA9\xF0\x9F\x98\x80");
}

TEST(JsonText, Refuses) {
  const std::string cases[] = {
      "",
      "{",
      "[]",
      "null",
      "\"text\"",
      "{} {}",
      "{\"a\":1,}",
      "{'a':1}",
      "{\"a\":NaN}",
      "{\"a\":Infinity}",
      "{\"a\":01}",
      "{\"a\":+1}",
      "{\"a\":1e}",
      "{\"a\":\"\x01\"}",
      "{\"a\":\"\xff\"}",
      "{\"a\":\"\xc3\"}",
      "{\"a\":\"\xc0\x80\"}",          // overlong
      "{\"a\":\"\xed\xa0\x80\"}",      // surrogate in UTF-8
      "{\"a\":\"\xf4\x90\x80\x80\"}",  // beyond U+10FFFF
      "{\"a\":\"\\ud800\"}",           // lone surrogates
      "{\"a\":\"\\udc00\"}",
      "{\"a\":\"\\ud800\\u0041\"}",
      "{\"a\":1} // comment",
      std::string("{\"a\":1}\0", 8),
  };
  for (const std::string& text : cases) {
    auto object = ParseJsonObject(text);
    EXPECT_TRUE(absl::IsInvalidArgument(object.status())) << text << ": " << object.status();
  }
}

TEST(JsonText, RefusesANameGivenTwiceInOneObjectAlone) {
  EXPECT_TRUE(ParseJsonObject(R"({"a":{"x":1},"b":{"x":1}})").ok());
  EXPECT_TRUE(ParseJsonObject(R"({"a":[{"x":1},{"x":1}]})").ok());
  auto object = ParseJsonObject(R"({"o":{"max_tokens":1,"b":[{"max_tokens":2}],"max_\u0074okens":3}})");
  ASSERT_FALSE(object.ok());
  EXPECT_NE(MessageOf(object.status()).find("\"max_tokens\" is given twice"), std::string_view::npos);
}

TEST(JsonText, TakesOneByteOrderMarkBeforeTheText) {
  EXPECT_TRUE(ParseJsonObject("\xEF\xBB\xBF{\"a\":1}").ok());
  EXPECT_FALSE(ParseJsonObject("\xEF\xBB\xBF\xEF\xBB\xBF{\"a\":1}").ok());
  EXPECT_FALSE(ParseJsonObject("\xEF\xBB{\"a\":1}").ok());
}

TEST(JsonText, LimitsTheDepth) {
  auto nested = [](int depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  EXPECT_TRUE(ParseJsonObject(nested(kMaxJsonDepth - 1)).ok());
  for (int depth : {kMaxJsonDepth, 3000, 1'000'000}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseJsonObject(nested(depth)).status())) << depth;
  }
}

TEST(JsonText, EveryTruncationIsRefused) {
  const std::string text = R"({"model":"m","messages":[{"role":"user","content":"h\u00e9"}],"n":1.5e3,"s":true})";
  ASSERT_TRUE(ParseJsonObject(text).ok());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseJsonObject(text.substr(0, length)).ok()) << text.substr(0, length);
  }
}

}  // namespace
}  // namespace inferd::gateway
