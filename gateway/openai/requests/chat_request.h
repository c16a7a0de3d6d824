// Body of POST /v1/chat/completions to GenerateRequest.
//
//   ASSIGN_OR_RETURN(ChatRequest chat, ParseChatRequest(exchange.request.body));
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/api/field_names.h"
#include "gateway/openai/requests/generation_fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

struct ChatRequest {
  v1::GenerateRequest generate;
  GenerationFields common;
  std::vector<std::string> warnings;
};

absl::StatusOr<ChatRequest> ParseChatRequest(std::string_view body);

// For errors of the worker.
std::span<const FieldName> ChatFieldNames();

// The fields messages, tools, tool_choice, parallel_tool_calls, chat_template_kwargs, reasoning_effort and
// add_generation_prompt; also for POST /apply-template.
absl::Status ReadChatPrompt(Fields& fields, v1::ChatPrompt& prompt);

}  // namespace inferd::gateway
