// The methods of strings, lists, tuples, dicts and numbers that a template may call.
//
//   const Builtin* strip = FindMethod(Kind::kString, "strip");   // null: there is none
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engine/template/builtin.h"

namespace inferd::chat_template {

const Builtin* FindMethod(Kind kind, std::string_view name);
// Python's methods that change a list or a dict: known, but forbidden in the sandbox.
bool ModifiesValue(Kind kind, std::string_view name);
// Fields of numbers: real, imag, numerator, denominator.
std::optional<Value> GetNumberField(const Value& value, std::string_view name);

// The tables of the string methods, one for each source that defines them.
std::span<const Builtin> StringSearchMethods();  // find, split, replace, strip, join, format, ...
std::span<const Builtin> StringCaseMethods();    // upper, isalpha, center, ...

}  // namespace inferd::chat_template
