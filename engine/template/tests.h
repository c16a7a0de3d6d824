// The tests of the language: {% if value is name(arguments) %}.
//
//   const Builtin* defined = FindTest("defined");   // null: there is none
#pragma once

#include <string_view>

#include "engine/template/builtin.h"

namespace inferd::chat_template {

const Builtin* FindTest(std::string_view name);

}  // namespace inferd::chat_template
