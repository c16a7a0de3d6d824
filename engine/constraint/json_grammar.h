// JSON as a grammar: the pieces of which schemas are made.
//
//   JsonGrammar json(grammar);
//   ExprId object = json.AnyObject();
//   ExprId value = json.Literal(boost::json::value("x"));
//
// A model could write digits and whitespace for ever: numbers have at most 18 digits before and 17 behind the point and
// two of exponent, and between tokens stands nothing, one space, or a line break and at most 32 of indentation.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/constraint/grammar.h"

namespace inferd::constraint {

constexpr uint32_t kMostIntegerDigits = 18, kMostFractionDigits = 17, kMostIndentation = 32;

inline std::string_view View(const boost::json::string& text) { return {text.data(), text.size()}; }

class JsonGrammar {
 public:
  explicit JsonGrammar(Grammar& grammar) : grammar_(grammar) {}

  ExprId Space();
  ExprId AnyValue();
  ExprId AnyObject();
  ExprId AnyArray();
  ExprId AnyString();
  ExprId AnyNumber();
  ExprId AnyInteger();
  ExprId Boolean();
  ExprId Null() { return grammar_.Literal("null"); }

  // This value, as it is written most simply.
  ExprId Literal(const boost::json::value& value);
  // A character of a string: itself, or an escape.
  ExprId StringChar();
  // A character of the set as it stands in a string: itself, escaped where it must be.
  ExprId Spell(const CharSet& set);
  // A string that is none of these names.
  ExprId StringBut(std::vector<std::string_view> names);

  ExprId Quoted(ExprId inside);
  ExprId Member(ExprId key, ExprId value);
  // `open` elements `close`: at least and at most so many, with commas between them.
  ExprId List(std::string_view open, ExprId element, uint32_t least, uint32_t most, std::string_view close);
  ExprId Comma() { return grammar_.Sequence({grammar_.Byte(','), Space()}); }

 private:
  ExprId BodyOfStringBut(const std::vector<std::string_view>& rests);

  Grammar& grammar_;
  std::optional<RuleId> space_, value_, object_, array_, string_, number_, integer_;
};

// Characters that stand for themselves in a string.
CharSet PlainStringChars();

}  // namespace inferd::constraint
