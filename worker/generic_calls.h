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

// `variables` of a template, with `messages`, an array of objects, and perhaps `tools`, an array: these are taken out
// and described in the first system message, which is added where there is none; calls and results become text
// (conversation/calls.h).
void WriteGenericCalls(boost::json::object& variables);

}  // namespace inferd::worker
