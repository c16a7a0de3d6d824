// Errors and streams as clients of Anthropic's API see them.
//
//   exchange.form = &AnthropicForm();
#pragma once

#include "gateway/http/api_form.h"

namespace inferd::gateway {

// {"type":"error","error":{"type","message"},"request_id"}
const ApiForm& AnthropicForm();

}  // namespace inferd::gateway
