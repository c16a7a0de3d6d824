// Errors and streams as clients of OpenAI's API see them.
//
//   exchange.form = &OpenAiForm();
#pragma once

#include "gateway/http/api_form.h"

namespace inferd::gateway {

const ApiForm& OpenAiForm();

}  // namespace inferd::gateway
