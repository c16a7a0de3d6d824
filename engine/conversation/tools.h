// Tools with what OpenAI's form leaves optional, for templates that ask for all of it.
//
//   tools = CompleteTools(std::move(tools));
#pragma once

#include <boost/json.hpp>

namespace inferd::conversation {

// Each function gets a description ("" where it has none) and parameters of an object with properties; each property a
// description and one type: the first of several that is not null, or that of its first value or alternative.
boost::json::array CompleteTools(boost::json::array tools);

}  // namespace inferd::conversation
