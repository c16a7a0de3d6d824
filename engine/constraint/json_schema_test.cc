#include "engine/constraint/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status.h"
#include "engine/constraint/testing_grammar.h"

namespace inferd::constraint {
namespace {

absl::StatusOr<Grammar> GrammarOf(std::string_view schema) {
  Grammar grammar;
  ASSIGN_OR_RETURN(const ExprId expr, ReadJsonSchema(schema, grammar));
  const RuleId root = grammar.AddRule("root");
  grammar.Define(root, expr);
  grammar.set_root(root);
  return grammar;
}

struct Case {
  const char* schema;
  std::vector<std::string> taken, refused;
};

class JsonSchema : public testing::TestWithParam<Case> {};

TEST_P(JsonSchema, TakesItsDocumentsAlone) {
  const absl::StatusOr<Grammar> grammar = GrammarOf(GetParam().schema);
  ASSERT_EQ(grammar.status(), absl::OkStatus()) << GetParam().schema;
  TextJudge judge(*grammar);
  ASSERT_EQ(judge.error, "") << GetParam().schema;
  for (const std::string& text : GetParam().taken) EXPECT_TRUE(judge.Takes(text)) << GetParam().schema << "\n" << text;
  for (const std::string& text : GetParam().refused) {
    EXPECT_FALSE(judge.Takes(text)) << GetParam().schema << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Values, JsonSchema,
    testing::Values(
        Case{"{}", {"1", "\"a\"", "null", "[1, {\"a\": []}]", "{}"}, {"", "tru", "[1,]", "{a: 1}", "01", "1."}},
        Case{"true", {"0"}, {"x"}}, Case{R"({"type": "null"})", {"null"}, {"0", "nul", "nulll"}},
        Case{R"({"type": "boolean"})", {"true", "false"}, {"True", "1"}},
        Case{R"({"type": ["integer", "null"]})", {"5", "null", "-12"}, {"5.0", "true"}},
        Case{R"({"type": "integer"})",
             {"0", "-1", "123456789012345678"},
             {"-0", "01", "1.5", "1e3", "1234567890123456789", "+1", "-"}},
        Case{
            R"({"type": "number"})", {"0", "-0.5", "1e9", "1.25E-10", "-0"}, {".5", "1.", "1e999", "01", "--1", "NaN"}},
        Case{R"({"enum": ["a", 1, null, [1, 2], {"k": "v"}, 1.5]})",
             {"\"a\"", "1", "null", "[1, 2]", "[1,2]", "{\"k\": \"v\"}", "1.5"},
             {"\"b\"", "2", "[1]", "a"}},
        Case{R"({"enum": ["a", 1], "type": "string"})", {"\"a\""}, {"1"}},
        Case{R"({"const": "x\"\\y\n"})", {R"("x\"\\y\n")"}, {"\"x\""}},
        Case{R"({"type": "integer", "nullable": true, "minimum": 3})", {"3", "null"}, {"2"}},
        Case{R"({"anyOf": [{"type": "integer"}, {"type": "string"}]})", {"1", "\"a\""}, {"null"}},
        Case{R"({"oneOf": [{"const": 1}, {"const": 2}], "title": "t"})", {"1", "2"}, {"3"}},
        Case{
            R"({"anyOf": [{"minimum": 3}, {"maximum": -3}], "type": "integer"})", {"3", "-3", "100"}, {"0", "2", "-2"}},
        Case{R"({"allOf": [{"type": ["integer", "string"]}, {"type": "number", "maximum": 9}]})",
             {"9", "-5"},
             {"10", "1.5", "\"a\""}},
        Case{R"({"allOf": [true, {"enum": [1, 2]}, {"enum": [2, 3]}]})", {"2"}, {"1", "3"}}));

INSTANTIATE_TEST_SUITE_P(
    Integers, JsonSchema,
    testing::Values(
        Case{R"({"type": "integer", "minimum": 0, "maximum": 100})",
             {"0", "7", "42", "99", "100"},
             {"101", "-1", "007", "1000"}},
        Case{R"({"type": "integer", "minimum": -15, "maximum": 23})",
             {"-15", "-9", "-1", "0", "9", "10", "23"},
             {"-16", "24", "-0", "-20"}},
        Case{R"({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5})", {"4"}, {"3", "5"}},
        Case{R"({"type": "integer", "minimum": 987})", {"987", "988", "1000", "99999"}, {"986", "99", "0", "-987"}},
        Case{R"({"type": "integer", "maximum": -120})", {"-120", "-121", "-1000"}, {"-119", "0", "5"}},
        Case{R"({"type": "integer", "minimum": 1.5, "maximum": 3.5})", {"2", "3"}, {"1", "4"}},
        Case{R"({"type": "integer", "minimum": 1950, "maximum": 2049})",
             {"1950", "1999", "2000", "2049"},
             {"1949", "2050", "195"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, JsonSchema,
    testing::Values(
        Case{R"({"type": "number", "minimum": 0, "maximum": 1})",
             {"0", "0.5", "1", "1.0", "1.000", "0.999"},
             {"1.01", "-0.1", "2", "1.0001", "5e-1"}},
        Case{R"({"type": "number", "exclusiveMinimum": 0.25, "exclusiveMaximum": 0.5})",
             {"0.26", "0.2500001", "0.49", "0.3"},
             {"0.25", "0.250", "0.5", "0.50", "0", "1"}},
        Case{R"({"type": "number", "minimum": -2.5, "maximum": 10.75})",
             {"-2.5", "-2", "-0.1", "0", "-0", "10.75", "10.7", "9.999"},
             {"-2.51", "-3", "10.751", "10.8", "11"}},
        Case{R"({"type": "number", "exclusiveMaximum": 0})", {"-0.1", "-5", "-12.5"}, {"0", "-0", "0.0", "-0.0", "1"}},
        Case{R"({"type": "number", "minimum": 99.5})", {"99.5", "99.6", "100", "12345.5"}, {"99.4", "99", "-100"}}));

INSTANTIATE_TEST_SUITE_P(
    Strings, JsonSchema,
    testing::Values(
        Case{R"({"type": "string"})",
             {R"("")", R"("aä\n\u00e4\"")", R"("\ud83d\ude00")"},
             {"\"a", "a", "\"\n\"", R"("\x")", R"("\u12")", R"("\ud83d")", R"("\ude00")", "\"\xFF\""}},
        Case{R"({"type": "string", "minLength": 2, "maxLength": 3})",
             {R"("ab")", R"("äöü")", R"("\n\u00e4")", R"("\ud83d\ude00x")"},
             {R"("a")", R"("abcd")"}},
        Case{R"({"type": "string", "minLength": 1})", {R"("a")", "\"" + std::string(300, 'x') + "\""}, {R"("")"}},
        Case{R"({"type": "string", "maxLength": 200})",
             {"\"" + std::string(200, 'x') + "\""},
             {"\"" + std::string(201, 'x') + "\""}},
        Case{R"({"type": "string", "pattern": "^[A-Z]{2}\\d+$"})", {R"("AB1")"}, {R"("AB")", R"("xAB1")", R"("AB1x")"}},
        Case{R"({"type": "string", "pattern": "b\"c"})", {R"("b\"c")", R"("ab\"cd\n")"}, {R"("bc")", "\"b\"c\""}},
        Case{R"({"type": "string", "pattern": "^a.c$"})",
             {R"("a\"c")", R"("a\\c")", R"("a\tc")", R"("a\u0001c")"},
             {R"("ac")", R"("a\nc")"}},
        Case{R"({"type": "string", "format": "date"})",
             {R"("2024-02-28")", R"("1999-12-31")"},
             {R"("2024-13-01")", R"("2024-02-30")", R"("24-01-01")"}},
        Case{R"({"type": "string", "format": "date-time"})",
             {R"("2024-02-28T23:59:59Z")", R"("2024-02-28T00:00:00.123+02:00")"},
             {R"("2024-02-28 00:00:00Z")", R"("2024-02-28T24:00:00Z")"}},
        Case{R"({"type": "string", "format": "time"})", {R"("12:34:56Z")"}, {R"("12:34")"}},
        Case{R"({"type": "string", "format": "uuid"})",
             {R"("123e4567-e89b-12d3-a456-426614174000")"},
             {R"("123e4567")"}},
        Case{R"({"type": "string", "format": "ipv4"})",
             {R"("192.168.0.255")"},
             {R"("256.1.1.1")", R"("1.2.3")", R"("01.2.3.4")"}},
        Case{R"({"type": "string", "format": "ipv6"})",
             {R"("::1")", R"("2001:db8::1")", R"("1:2:3:4:5:6:7:8")"},
             {R"("1:2")", R"("::1::2")"}},
        Case{R"({"type": "string", "format": "email"})", {R"("a.b@example.org")"}, {R"("a@b")", R"("@example.org")"}},
        Case{R"({"type": "string", "format": "hostname"})", {R"("a.example")"}, {R"("-a")", R"("a.")"}},
        Case{R"({"type": "string", "format": "duration"})",
             {R"("P1Y2M3D")", R"("PT5M")", R"("P3W")"},
             {R"("P")", R"("PT")", R"("5M")"}},
        Case{R"({"type": "string", "format": "uri"})", {R"("https://example.org/a?b=c#d")"}, {R"("example.org")"}}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, JsonSchema,
    testing::Values(
        Case{R"({"type": "array"})",
             {"[]", "[1, \"a\", [null]]", "[\n  1,\n  2\n]", "[ 1 ]"},
             {"[1 2]", "[,]", "[1,]", "[", "[\n\n1]"}},
        Case{R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
             {"[1, 2]", "[1,2,3]"},
             {"[1]", "[1,2,3,4]", "[]", "[1, \"a\"]"}},
        Case{R"({"type": "array", "items": {"type": "integer"}, "minItems": 1})", {"[1]", "[1,2,3,4,5,6]"}, {"[]"}},
        Case{R"({"type": "array", "maxItems": 0})", {"[]", "[ ]"}, {"[1]"}},
        Case{R"({"items": {"type": "boolean"}})", {"[true]"}, {"true"}},
        Case{R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}]})",
             {"[]", "[1]", "[1, 2]"},
             {"[2]", "[1, 2, 3]", "[,2]"}},
        Case{R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false, "minItems": 2})",
             {"[1, 2]"},
             {"[]", "[1]", "[1, 2, 3]"}},
        Case{R"({"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 3}, "minItems": 2, "maxItems": 3})",
             {"[1, 3]", "[1, 3, 3]"},
             {"[1]", "[3, 3]", "[1, 3, 3, 3]"}},
        Case{R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1})",
             {"[]", "[1]"},
             {"[1, 2]"}},
        Case{
            R"({"type": "array", "items": {"type": "array", "items": {"const": 0}, "maxItems": 1}, "maxItems": 2, "uniqueItems": false})",
            {"[[], [0]]"},
            {"[[0, 0]]"}},
        Case{R"({"type": "array", "items": {"const": 7}, "minItems": 70, "maxItems": 71})", {}, {"[7, 7]", "[]"}}));

INSTANTIATE_TEST_SUITE_P(
    Objects, JsonSchema,
    testing::Values(
        Case{R"({"type": "object"})",
             {"{}", R"({"a": 1, "b": {"c": []}})", "{\n\t\"a\": 1\n}", "{ \"a\": 1 }"},
             {"{\"a\"}", "{\"a\": }", "{\"a\": 1,}"}},
        Case{
            R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"], "additionalProperties": false})",
            {R"({"a": 1, "b": "x"})", R"({"a":1,"b":"x"})"},
            {R"({"b": "x", "a": 1})", R"({"a": 1})", "{}", R"({"a": 1, "b": "x", "c": 1})"}},
        Case{
            R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]})",
            {R"({"b": 2})", R"({"a": 1, "b": 2})", R"({"b": 2, "c": 3})", R"({"a": 1, "b": 2, "c": 3})"},
            {"{}", R"({"a": 1})", R"({"a": 1, "c": 3})", R"({, "b": 2})"}},
        Case{R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}})",
             {"{}", R"({"a": 1})", R"({"b": 2})", R"({"a": 1, "b": 2})"},
             {R"({"b": 2, "a": 1})", R"({"c": 2})"}},
        Case{R"({"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": {"type": "boolean"}})",
             {"{}", R"({"a": 1})", R"({"a": 1, "b": true})", R"({"ab": true, "": false})", R"({"b": true, "c": true})"},
             {R"({"a": true})", R"({"b": 1})", R"({"b": true, "a": true})", R"({"\u0061": true})"}},
        Case{R"({"type": "object", "additionalProperties": {"const": 1}, "minProperties": 1, "maxProperties": 2})",
             {R"({"a": 1})", R"({"a": 1, "b": 1})"},
             {"{}", R"({"a": 1, "b": 1, "c": 1})"}},
        Case{R"({"type": "object", "additionalProperties": false})", {"{}", "{ }"}, {R"({"a": 1})"}},
        Case{R"({"type": "object", "required": ["z"]})", {R"({"z": [1]})"}, {"{}", R"({"y": 1})"}},
        Case{
            R"({"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "integer"}}, "properties": {"id": {"const": 1}}, "required": ["id"]})",
            {R"({"id": 1})", R"({"id": 1, "x-a": 2, "x-bc": 3})"},
            {R"({"x-a": 2})", R"({"id": 1, "y": 2})", R"({"id": 1, "x-a": "2"})"}},
        Case{R"({"properties": {"a": {"type": "null"}}, "required": ["a"]})", {R"({"a": null})"}, {"null"}},
        Case{R"({"type": "object", "properties": {"a\"b\n": {"const": 1}}, "required": ["a\"b\n"]})",
             {R"({"a\"b\n": 1})"},
             {R"({"ab": 1})"}},
        Case{R"({"type": "object", "properties": {"never": false, "a": {"const": 1}}})",
             {"{}", R"({"a": 1})"},
             {R"({"never": 1})", R"({"n)"}}));

INSTANTIATE_TEST_SUITE_P(
    References, JsonSchema,
    testing::Values(
        Case{R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})", {"1"}, {"\"a\""}},
        Case{R"({"$ref": "#/$defs/n", "maximum": 5, "$defs": {"n": {"type": "integer", "minimum": 3}}})",
             {"3", "5"},
             {"2", "6"}},
        Case{
            R"({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["v", "next"], "additionalProperties": false})",
            {R"({"v": 1, "next": null})", R"({"v": 1, "next": {"v": 2, "next": {"v": 3, "next": null}}})"},
            {R"({"v": 1})", R"({"v": 1, "next": {"v": 2}})"}},
        Case{
            R"({"$ref": "#/definitions/tree", "definitions": {"tree": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}})",
            {"[]", "[[], [[]]]"},
            {"[1]", "[[]"}},
        Case{R"({"properties": {"a/b": {"const": 1}, "c~d": {"$ref": "#/properties/a~1b"}}})",
             {R"({"a/b": 1, "c~d": 1})"},
             {R"({"c~d": 2})"}},
        Case{
            R"({"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"const": 2}}, "required": ["b"]}], "$defs": {"base": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}}})",
            {R"({"a": 1, "b": 2})"},
            {R"({"a": 1})", R"({"b": 2})"}},
        Case{
            R"({"allOf": [{"properties": {"a": {"type": "integer"}}, "additionalProperties": false}, {"properties": {"a": {"minimum": 5}, "b": {"const": 2}}}], "type": "object"})",
            {"{}", R"({"a": 5})"},
            {R"({"a": 4})", R"({"b": 2})", R"({"a": 5, "b": 2})"}},
        Case{
            R"({"anyOf": [{"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k", "x"]}, {"properties": {"k": {"const": "b"}, "y": {"type": "string"}}, "required": ["k", "y"]}], "type": "object"})",
            {R"({"k": "a", "x": 1})", R"({"k": "b", "y": "1"})"},
            {R"({"k": "a", "y": "1"})", R"({"k": "b", "x": 1})"}}));

TEST(JsonSchema, NamesTheKeywordAndThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "at #: the schema is not JSON"},
      {"{\"type\": }", "at #: the schema is not JSON"},
      {"5", "at #: 5 is not a schema"},
      {R"({"type": "text"})", "at #: type \"text\" is not known"},
      {R"({"properties": {"a": {"type": "integer", "multipleOf": 0.1}}})",
       "at #/properties/a: multipleOf 0.1 is not supported"},
      {R"({"multipleOf": 1e-12})", "at #: multipleOf 1e-12 is not supported"},
      {R"({"multipleOf": 0.3, "exclusiveMinimum": 0.3, "exclusiveMaximum": 0.6})",
       "at #: no multiple of 0.3 is within"},
      {R"({"properties": {"a": {"multipleOf": 0}}})", "at #/properties/a: multipleOf is 0, expected a number above 0"},
      {R"({"type": "integer", "not": {"multipleOf": 3}})", "at #/not: multipleOf is not supported where the schema"},
      {R"({"type": "string", "not": {"format": "date"}})", "at #/not: format is not supported where the schema"},
      {R"({"type": "array", "items": {"type": "number"}, "uniqueItems": true})", "at #: uniqueItems is supported of"},
      {R"({"properties": {"a": {"$id": "b"}}})", "at #/properties/a: keyword $id is supported at the root alone"},
      {R"({"type": "object", "unevaluatedProperties": false})", "keyword unevaluatedProperties is not supported"},
      {R"({"typ": "object"})", "keyword typ is not supported"},
      {R"j({"items": {"type": "string", "pattern": "(?=a)"}})j",
       "at #/items: pattern at offset 0: lookahead is not supported"},
      {R"({"type": "string", "minLength": -1})", "at #: minLength is -1, expected 0 to 100000"},
      {R"({"type": "string", "minLength": 1e9})", "minLength is 1E9, expected 0 to 100000"},
      {R"({"type": "string", "minLength": 3, "maxLength": 2})", "at #: minLength is more than maxLength"},
      {R"({"type": "integer", "minimum": "3"})", "at #: minimum is \"3\", expected a number"},
      {R"({"type": "integer", "minimum": 1e300})", "at #: integers of more than 64 bits"},
      {R"({"$ref": "http://example.org/x"})", "at #: $ref http://example.org/x leads out of the schema"},
      {R"({"$ref": "#/nowhere"})", "at #: $ref #/nowhere leads nowhere"},
      {R"({"$ref": 5})", "at #: $ref is not a string"},
      {R"({"$ref": "#"})", "at #: $ref leads back to itself"},
      {R"({"allOf": [{"$ref": "#"}]})", "leads back to itself"},
      {R"({"$ref": "#", "minLength": 1})", "leads back to itself"},
      {R"({"enum": "a"})", "at #: enum is not a list"},
      {R"({"required": "a"})", "at #/required: is not a list"},
      {R"({"properties": []})", "at #: properties is not an object"},
      {R"({"additionalProperties": {}, "minProperties": 2})", "minProperties above the number of properties and one"}};
  for (const auto& [schema, message] : cases) {
    const absl::StatusOr<Grammar> grammar = GrammarOf(schema);
    EXPECT_EQ(grammar.status().code(), absl::StatusCode::kInvalidArgument) << schema;
    EXPECT_THAT(std::string(MessageOf(grammar.status())), testing::HasSubstr(message)) << schema;
  }
}

TEST(JsonSchema, RefusesWhatNoDocumentSatisfies) {
  const char* schemas[] = {"false",
                           R"({"allOf": [{"type": "string"}, {"type": "null"}]})",
                           R"({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]})",
                           R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
                           R"({"type": "integer", "minimum": 5, "maximum": 4})",
                           R"({"enum": []})",
                           R"({"type": "object", "properties": {"a": false}, "required": ["a"]})",
                           R"({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})"};
  for (const char* schema : schemas) {
    const absl::StatusOr<Grammar> grammar = GrammarOf(schema);
    ASSERT_EQ(grammar.status(), absl::OkStatus()) << schema;
    EXPECT_NE(TextJudge(*grammar).error, "") << schema;
  }
}

TEST(JsonSchema, BombsAreRefused) {
  std::string deep = "true";
  for (int i = 0; i < 3000; ++i) deep = "{\"items\": " + deep + "}";
  EXPECT_FALSE(GrammarOf(deep).ok());
  // Each anyOf reads what is inside it twice.
  std::string twice = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 60; ++i) {
    twice +=
        fmt::format(R"("d{}": {{"minLength": {}, "anyOf": [{{"$ref": "#/$defs/d{}"}}, {{"$ref": "#/$defs/d{}"}}]}}, )",
                    i, i, i + 1, i + 1);
  }
  EXPECT_THAT(std::string(MessageOf(GrammarOf(twice + R"("d60": {"type": "string"}}})").status())),
              testing::HasSubstr("the schema is too large"));
  const std::string name(2000, 'x');
  EXPECT_THAT(std::string(MessageOf(GrammarOf(R"({"properties": {")" + name + R"(": {}}})").status())),
              testing::HasSubstr("a name of 2000 bytes"));
  // Lists that a comparison of each with each would take minutes for.
  std::string list = "[0";
  for (int i = 1; i < 60'000; ++i) list += fmt::format(",{}", i);
  list += "]";
  const absl::StatusOr<Grammar> none =
      GrammarOf(fmt::format(R"({{"allOf": [{{"enum": {}}}, {{"enum": {}}}, {{"enum": [-1]}}]}})", list, list));
  ASSERT_EQ(none.status(), absl::OkStatus());
  EXPECT_THAT(TextJudge(*none).error, testing::HasSubstr("no text is complete"));
  // Each schema twice in the next: 2^40 without a bound.
  std::string doubling = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 40; ++i) {
    doubling += fmt::format(
        R"("d{}": {{"allOf": [{{"$ref": "#/$defs/d{}"}}, {{"anyOf": [{{"$ref": "#/$defs/d{}"}}, {{"title": "x"}}]}}]}}, )",
        i, i + 1, i + 1);
  }
  doubling += R"("d40": {"type": "string"}}})";
  const absl::StatusOr<Grammar> grammar = GrammarOf(doubling);
  if (grammar.ok()) TextJudge(*grammar).TakesBeginning("\"a");
}

}  // namespace
}  // namespace inferd::constraint
