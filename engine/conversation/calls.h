// The calls of tools in a conversation's history, as a template can take them.
//
//   NormalizeCalls(messages, abilities.With(has_tools));   // "", null, cut JSON and objects as arguments
#pragma once

#include <boost/json.hpp>
#include <string>

#include "engine/conversation/abilities.h"

namespace inferd::conversation {

// Arguments become an object, or where the template takes them as JSON text, a text. A text that holds no object stays
// a text where the template shows such a text, and is else the object {"arguments": text}. No arguments: an empty
// object. A call without type gets "function".
void NormalizeCalls(boost::json::array& messages, const Shown& shown);

// For templates that show no calls: they join the text of their message, one a line in the form of GenericCalls().
void FoldCalls(boost::json::array& messages);

// For templates that show no results: each row of them becomes one text of the user, with the name of each one's
// function and the result between <tool_response> and </tool_response>. Before FoldCalls.
void FoldResults(boost::json::array& messages);

// One call a message, each followed by its result.
boost::json::array SplitCalls(boost::json::array messages);

// The content beside calls in a message of its own before them.
boost::json::array SplitContentFromCalls(boost::json::array messages);

// Every call gets an id of nine letters and digits, and so does each result, in order where it names no call.
void ShortenCallIds(boost::json::array& messages);

}  // namespace inferd::conversation
