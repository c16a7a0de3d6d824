// What of the tools of a request calls can be bound to. A function that asks for `strict: true` is bound as it is, or
// refused; of others, what cannot be bound is taken out, and a warning says what.
//
//   BindableTools bindable = FindBindable(tools_json, format);
//   demand.tools_json = bindable.tools_json;
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/base/warning.h"
#include "engine/output/answer_format.h"

namespace inferd::constraint {

struct BindableTools {
  std::string tools_json;
  std::vector<Warning> warnings;
};

// Tools that are wrong stay as they are: compiling says so.
BindableTools FindBindable(const std::string& tools_json, const output::AnswerFormat& format);

// The first keyword of the parameters that a form which writes each by itself cannot keep; empty: none.
std::string KeywordBeyondParameters(const boost::json::object& parameters);
// A schema within `root`, with what its references lead to.
boost::json::value WithDefinitions(const boost::json::value& schema, const boost::json::object& root);

}  // namespace inferd::constraint
