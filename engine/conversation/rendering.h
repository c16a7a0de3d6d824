// A request's conversation to the prompt that a template makes of it, with every text in it: as the template shows it,
// or where it would lose a text or refuses the conversation, in a form of the same texts that it does show.
//
//   ASSIGN_OR_RETURN(Rendering rendering, RenderConversation(*chat_template, abilities, request, model, now));
#pragma once

#include <boost/json/fwd.hpp>
#include <ctime>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/conversation/abilities.h"
#include "engine/template/chat_template.h"

namespace inferd::conversation {

struct Rendering {
  chat_template::RenderedPrompt prompt;
  // Fields that templates leave out on purpose, such as reasoning of earlier turns: "messages[1].reasoning_content".
  std::vector<std::string> left_out;
};

// `request` holds messages (objects with a role each), tools and what else a template may read. INVALID_ARGUMENT names
// the message whose text no form shows or that the template refuses; RESOURCE_EXHAUSTED: a limit of the template.
absl::StatusOr<Rendering> RenderConversation(const chat_template::ChatTemplate& chat_template,
                                             const Abilities& abilities, boost::json::object request,
                                             const boost::json::object& model, const std::tm& now);

}  // namespace inferd::conversation
