// What a chat template can show, found by rendering small conversations of marker texts once, when it is loaded.
//
//   ASSIGN_OR_RETURN(Abilities abilities, ProbeAbilities(*chat_template, ModelVariables(*tokenizer)));
//   if (!abilities.With(has_tools).system) ...   // the system text goes into the first user turn
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "engine/template/chat_template.h"

namespace inferd::conversation {

// Each is true where the marker texts of such a conversation are in the prompt.
struct Shown {
  bool developer = false;            // as the first message
  bool system = false;               // as the first message
  bool systems_in_a_row = false;     // at the beginning
  bool later_system = false;         // between an answer and a question
  bool users_in_a_row = false;       // at the beginning and later
  bool assistants_in_a_row = false;  // between two questions
  bool assistant_first = false;
  bool empty_assistant = false;     // without content and calls, between two questions
  bool calls = false;               // of an assistant message: name and arguments
  bool results = false;             // of the role tool, after calls
  bool lone_results = false;        // of the role tool, after a text
  bool several_calls = false;       // of one message
  bool content_with_calls = false;  // of one message
  bool any_call_id = false;         // false: only ids of nine letters and digits
  bool null_content = false;        // beside calls; false: it has to be ""
  bool object_arguments = false;    // arguments of calls as an object; false: as JSON text
  bool text_arguments = false;      // arguments that are a text, not an object
};

struct Abilities {
  Shown plain;                                        // of requests without tools
  Shown with_tools;                                   // of requests with tools
  bool tools = false;                                 // names and descriptions of functions
  bool text_content = false;                          // content as a string; false: as a list of parts
  std::string reasoning_field = "reasoning_content";  // of an assistant message: what it thought

  const Shown& With(bool has_tools) const { return has_tools ? with_tools : plain; }
};

// `model`: what the model's file declares (ModelVariables). FAILED_PRECONDITION: a user's message is not shown, or a
// limit of rendering is passed.
absl::StatusOr<Abilities> ProbeAbilities(const chat_template::ChatTemplate& chat_template,
                                         const boost::json::object& model);

}  // namespace inferd::conversation
