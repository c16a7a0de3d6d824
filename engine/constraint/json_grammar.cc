#include "engine/constraint/json_grammar.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <map>
#include <string>

#include "config/base/status.h"
#include "engine/constraint/text_cursor.h"

namespace inferd::constraint {
namespace {

ByteSet BytesOf(std::string_view bytes) {
  ByteSet set;
  for (char byte : bytes) set.set(static_cast<unsigned char>(byte));
  return set;
}

constexpr std::string_view kHex = "0123456789abcdefABCDEF";

std::string NumberText(const boost::json::value& value) {
  if (!value.is_double()) return boost::json::serialize(value);
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value.get_double());
  return std::string(text, end.ptr);
}

}  // namespace

CharSet PlainStringChars() { return CharSet::Any().Minus({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}); }

ExprId JsonGrammar::Space() {
  if (!space_) {
    const ExprId indentation = grammar_.Repeat(grammar_.Bytes(BytesOf(" \t")), 0, kMostIndentation);
    const ExprId line = grammar_.Sequence({grammar_.Optional(grammar_.Byte('\r')), grammar_.Byte('\n'), indentation});
    space_ = grammar_.AddRule("whitespace");
    grammar_.Define(*space_, grammar_.Optional(grammar_.Choice({grammar_.Byte(' '), line})));
  }
  return grammar_.Call(*space_);
}

ExprId JsonGrammar::AnyValue() {
  if (!value_) {
    value_ = grammar_.AddRule("value");
    grammar_.Define(*value_, grammar_.Choice({AnyObject(), AnyArray(), AnyString(), AnyNumber(), Boolean(), Null()}));
  }
  return grammar_.Call(*value_);
}

ExprId JsonGrammar::AnyObject() {
  if (!object_) {
    object_ = grammar_.AddRule("object");
    grammar_.Define(*object_, List("{", Member(AnyString(), AnyValue()), 0, kUnbounded, "}"));
  }
  return grammar_.Call(*object_);
}

ExprId JsonGrammar::AnyArray() {
  if (!array_) {
    array_ = grammar_.AddRule("array");
    grammar_.Define(*array_, List("[", AnyValue(), 0, kUnbounded, "]"));
  }
  return grammar_.Call(*array_);
}

ExprId JsonGrammar::AnyString() {
  if (!string_) {
    string_ = grammar_.AddRule("string");
    grammar_.Define(*string_, Quoted(grammar_.Star(StringChar())));
  }
  return grammar_.Call(*string_);
}

ExprId JsonGrammar::AnyNumber() {
  if (!number_) {
    const ExprId digit = grammar_.Bytes(BytesOf("0123456789"));
    const ExprId whole = grammar_.Choice(
        {grammar_.Byte('0'),
         grammar_.Sequence({grammar_.Bytes(BytesOf("123456789")), grammar_.Repeat(digit, 0, kMostIntegerDigits - 1)})});
    const ExprId fraction = grammar_.Sequence({grammar_.Byte('.'), grammar_.Repeat(digit, 1, kMostFractionDigits)});
    const ExprId exponent =
        grammar_.Sequence({grammar_.Bytes(BytesOf("eE")), grammar_.Optional(grammar_.Bytes(BytesOf("+-"))),
                           grammar_.Repeat(digit, 1, 2)});
    number_ = grammar_.AddRule("number");
    grammar_.Define(*number_, grammar_.Sequence({grammar_.Optional(grammar_.Byte('-')), whole,
                                                 grammar_.Optional(fraction), grammar_.Optional(exponent)}));
  }
  return grammar_.Call(*number_);
}

ExprId JsonGrammar::AnyInteger() {
  if (!integer_) {
    const ExprId digits = grammar_.Repeat(grammar_.Bytes(BytesOf("0123456789")), 0, kMostIntegerDigits - 1);
    const ExprId number =
        grammar_.Sequence({grammar_.Optional(grammar_.Byte('-')), grammar_.Bytes(BytesOf("123456789")), digits});
    integer_ = grammar_.AddRule("integer");
    grammar_.Define(*integer_, grammar_.Choice({grammar_.Byte('0'), number}));
  }
  return grammar_.Call(*integer_);
}

ExprId JsonGrammar::Boolean() { return grammar_.Choice({grammar_.Literal("true"), grammar_.Literal("false")}); }

ExprId JsonGrammar::Quoted(ExprId inside) {
  return grammar_.Sequence({grammar_.Byte('"'), inside, grammar_.Byte('"')});
}

ExprId JsonGrammar::Member(ExprId key, ExprId value) {
  return grammar_.Sequence({key, grammar_.Byte(':'), Space(), value});
}

ExprId JsonGrammar::List(std::string_view open, ExprId element, uint32_t least, uint32_t most, std::string_view close) {
  ExprId elements = grammar_.Empty();
  if (most > 0) {
    const uint32_t more = most == kUnbounded ? most : most - 1;
    const ExprId rest = grammar_.Repeat(grammar_.Sequence({Comma(), element}), least > 0 ? least - 1 : 0, more);
    elements = grammar_.Sequence({element, rest, Space()});
    if (least == 0) elements = grammar_.Optional(elements);
  }
  return grammar_.Sequence({grammar_.Literal(open), Space(), elements, grammar_.Literal(close)});
}

ExprId JsonGrammar::Literal(const boost::json::value& value) {
  if (value.is_object()) {
    std::vector<ExprId> parts = {grammar_.Byte('{'), Space()};
    for (const auto& [key, member] : value.get_object()) {
      if (parts.size() > 2) parts.push_back(Comma());
      parts.push_back(Member(Literal(boost::json::value(key)), Literal(member)));
    }
    parts.insert(parts.end(), {Space(), grammar_.Byte('}')});
    return grammar_.Sequence(std::move(parts));
  }
  if (value.is_array()) {
    std::vector<ExprId> parts = {grammar_.Byte('['), Space()};
    for (const boost::json::value& element : value.get_array()) {
      if (parts.size() > 2) parts.push_back(Comma());
      parts.push_back(Literal(element));
    }
    parts.insert(parts.end(), {Space(), grammar_.Byte(']')});
    return grammar_.Sequence(std::move(parts));
  }
  return grammar_.Literal(value.is_number() ? NumberText(value) : boost::json::serialize(value));
}

// Half a pair of surrogates is no character.
ExprId JsonGrammar::StringChar() {
  const auto hex = [&](uint32_t count) { return grammar_.Repeat(grammar_.Bytes(BytesOf(kHex)), count, count); };
  const auto set = [&](std::string_view bytes) { return grammar_.Bytes(BytesOf(bytes)); };
  const ExprId d = set("dD");
  const ExprId unicode = grammar_.Choice(
      {grammar_.Sequence({set("0123456789abcefABCEF"), hex(3)}), grammar_.Sequence({d, set("01234567"), hex(2)}),
       grammar_.Sequence({d, set("89abAB"), hex(2), grammar_.Literal("\\u"), d, set("cdefCDEF"), hex(2)})});
  const ExprId escape = grammar_.Sequence(
      {grammar_.Byte('\\'), grammar_.Choice({set("\"\\/bfnrt"), grammar_.Sequence({grammar_.Byte('u'), unicode})})});
  return grammar_.Choice({grammar_.Chars(PlainStringChars()), escape});
}

ExprId JsonGrammar::Spell(const CharSet& set) {
  constexpr std::pair<uint32_t, std::string_view> kEscapes[] = {
      {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}, {'\b', "\\b"}, {'\f', "\\f"}};
  std::vector<ExprId> choices;
  const CharSet plain = set.Intersect(PlainStringChars());
  if (!plain.empty()) choices.push_back(grammar_.Chars(plain));
  CharSet left = set.Minus(PlainStringChars());
  for (const auto& [code, escape] : kEscapes) {
    if (!left.Has(code)) continue;
    choices.push_back(grammar_.Literal(escape));
    left = left.Minus({{code, code}});
  }
  for (uint32_t code = 0; code < 0x20; ++code) {
    if (left.Has(code)) choices.push_back(grammar_.Literal(fmt::format("\\u{:04x}", code)));
  }
  return grammar_.Choice(std::move(choices));
}

ExprId JsonGrammar::StringBut(std::vector<std::string_view> names) {
  // The strings are written without escapes, so that no name can be spelled in another way.
  const CharSet plain = PlainStringChars();
  std::erase_if(names, [&](std::string_view name) {
    for (TextCursor cursor(name); !cursor.AtEnd();) {
      const std::optional<uint32_t> code = cursor.TakeChar();
      if (!code || !plain.Has(*code)) return true;
    }
    return false;
  });
  return grammar_.Sequence({grammar_.Byte('"'), BodyOfStringBut(names)});
}

// What comes after the opening quote or a beginning of some names, of which these are the rests.
ExprId JsonGrammar::BodyOfStringBut(const std::vector<std::string_view>& rests) {
  bool is_name = false;
  std::map<uint32_t, std::vector<std::string_view>> by_char;
  for (std::string_view rest : rests) {
    TextCursor cursor(rest);
    const std::optional<uint32_t> code = cursor.TakeChar();
    is_name |= !code;
    if (code) by_char[*code].push_back(rest.substr(cursor.offset()));
  }
  CharSet others = PlainStringChars();
  std::vector<ExprId> choices;
  for (const auto& [code, next] : by_char) {
    others = others.Minus({{code, code}});
    choices.push_back(grammar_.Sequence({grammar_.Chars({{code, code}}), BodyOfStringBut(next)}));
  }
  const ExprId plain = grammar_.Chars(PlainStringChars());
  choices.push_back(grammar_.Sequence({grammar_.Chars(others), grammar_.Star(plain), grammar_.Byte('"')}));
  if (!is_name) choices.push_back(grammar_.Byte('"'));
  return grammar_.Choice(std::move(choices));
}

}  // namespace inferd::constraint
