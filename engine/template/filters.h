// The filters of the language: {{ value|name(arguments) }}.
//
//   const Builtin* upper = FindFilter("upper");   // null: there is none
#pragma once

#include <span>
#include <string_view>

#include "engine/template/builtin.h"

namespace inferd::chat_template {

const Builtin* FindFilter(std::string_view name);

// The tables, one for each source that defines them.
std::span<const Builtin> TextFilters();      // upper, replace, indent, tojson, escape, ...
std::span<const Builtin> SequenceFilters();  // join, map, select, sort, groupby, ...
std::span<const Builtin> ValueFilters();     // default, int, round, length, attr, ...

}  // namespace inferd::chat_template
