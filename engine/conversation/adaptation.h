// Conversations in another form of the same texts, for templates that do not show the first one.
//
//   const Adaptation needed = NeededFor(messages, abilities.With(has_tools));
//   json::array adapted = Adapt(messages, needed);
#pragma once

#include <boost/json.hpp>

#include "engine/conversation/abilities.h"

namespace inferd::conversation {

// In the order in which they are made.
struct Adaptation {
  bool developer_to_system = false;
  bool drop_empty_assistants = false;  // which say and call nothing
  bool shorten_call_ids = false;
  bool split_content_from_calls = false;
  bool split_calls = false;
  bool fold_calls = false;             // into the texts of their messages
  bool fold_results = false;           // into texts of the user
  bool merge_first_systems = false;    // into one
  bool later_systems_to_user = false;  // where they are, each with the user's next text
  bool systems_to_user = false;        // all of them
  bool join_users = false;             // neighbours, into one turn
  bool join_assistants = false;
  bool user_first = false;  // an empty user's turn before an assistant's that begins

  bool operator==(const Adaptation&) const = default;
};

// What the template's abilities ask for in this conversation.
Adaptation NeededFor(const boost::json::array& messages, const Shown& shown);

// Depends on roles, on which texts are blank, and on the calls' ids, but not on the texts.
boost::json::array Adapt(boost::json::array messages, const Adaptation& adaptation);

}  // namespace inferd::conversation
