#include "gateway/json/partial_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace inferd::gateway {
namespace {

namespace json = boost::json;

// The right sides are what jiter.from_json(text, partial_mode=True) gives, which Anthropic's client reads streams with.
TEST(PartialJson, KeepsWhatIsComplete) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "{}"},
      {"{", "{}"},
      {"{\"a", "{}"},
      {"{\"a\"", "{}"},
      {"{\"a\":", "{}"},
      {"{\"a\": tru", "{}"},
      {"{\"a\": true", R"({"a": true})"},
      {"{\"a\": nul", "{}"},
      {"{\"a\": 1", R"({"a": 1})"},
      {"{\"a\": -", "{}"},
      {"{\"a\": 1.", "{}"},
      {"{\"a\": 1.5", R"({"a": 1.5})"},
      {"{\"a\": 1.5e", "{}"},
      {"{\"a\": 1, \"b", R"({"a": 1})"},
      {"{\"a\": 1,", R"({"a": 1})"},
      {"{\"a\": \"x", "{}"},
      {"{\"a\": \"x\"", R"({"a": "x"})"},
      {"{\"a\": \"x\\\"", "{}"},
      {"{\"a\": \"x\\\\\"", R"({"a": "x\\"})"},
      {"{\"a\": \"x\\u00e", "{}"},
      {"{\"a\": [", R"({"a": []})"},
      {"{\"a\": [1, \"}]\", {\"b\": [2, 3", R"({"a": [1, "}]", {"b": [2, 3]}]})"},
      {"{\"a\": [1, {\"b\": \"c", R"({"a": [1, {}]})"},
      {"{\"a\": {\"b\": 1}, ", R"({"a": {"b": 1}})"},
      {"{\"a\": 1}", R"({"a": 1})"},
  };
  for (const auto& [text, kept] : cases) EXPECT_EQ(json::value(ParsePartialObject(text)), json::parse(kept)) << text;
}

TEST(PartialJson, IsEmptyForWhatIsNoObject) {
  for (const char* text : {"[1, 2", "12", "\"a", "nonsense", "{]", "}", "{\"a\": 1}}"}) {
    EXPECT_EQ(ParsePartialObject(text), json::object()) << text;
  }
}

TEST(PartialJson, GrowsWithItsText) {
  const std::string whole =
      R"({"city": "Köln \"D\"", "days": [1, -2.5, {"x": null}], "deep": {"a": {"b": [true]}}, "n": 17})";
  size_t members = 0;
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const json::object object = ParsePartialObject(std::string_view(whole).substr(0, cut));
    EXPECT_GE(object.size(), members) << whole.substr(0, cut);
    members = object.size();
  }
  EXPECT_EQ(json::value(ParsePartialObject(whole)), json::parse(whole));
}

}  // namespace
}  // namespace inferd::gateway
