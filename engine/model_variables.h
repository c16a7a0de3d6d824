// The variables of a chat template that the model's file declares, named as the transformers library names them.
//
//   chat_template->Render(request, ModelVariables(*tokenizer), now);
#pragma once

#include <boost/json/fwd.hpp>

#include "engine/tokenizer/tokenizer.h"

namespace inferd::engine {

// Spellings of bos_token and eos_token; empty where the file names none.
boost::json::object ModelVariables(const tokenizer::Tokenizer& tokenizer);

}  // namespace inferd::engine
