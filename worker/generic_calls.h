// Calls of tools for models whose chat template has no form for them: the functions and how to call them are described
// in the system text, and calls and results of earlier turns are written into the texts of their messages.
//
//   json::object variables = ...;                      // messages, tools and others
//   if (model.answer_format.has_generic_calls()) WriteGenericCalls(variables);
//
// The form is output::GenericCalls().
#pragma once

#include <boost/json/object.hpp>

namespace inferd::worker {

// `variables` of a template: `tools` are taken out and described in the first system message, which is added where
// there is none; `tool_calls` become text, and messages of role tool become one user message for each row of them.
// What has another form than OpenAI's stays as it is.
void WriteGenericCalls(boost::json::object& variables);

}  // namespace inferd::worker
