// Body of POST /v1/completions to one GenerateRequest for each of its prompts.
//
//   ASSIGN_OR_RETURN(CompletionRequest completion, ParseCompletionRequest(exchange.request.body));
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

struct CompletionRequest {
  std::vector<v1::GenerateRequest> generate;
  GenerationFields common;
  // The prompt comes first in the text.
  bool echo = false;
  std::vector<std::string> warnings;
};

absl::StatusOr<CompletionRequest> ParseCompletionRequest(std::string_view body);

// For errors of the worker.
std::span<const FieldName> CompletionFieldNames();

// Prompts of one request: no more than this many, and choices in all.
inline constexpr size_t kMaxPrompts = 2048;

// One text, a list of texts, a list of token ids, or a list of those lists: calls back with what each is.
struct PromptInput {
  std::string text;
  std::vector<int32_t> ids;
  bool is_text = true;
};
absl::StatusOr<std::vector<PromptInput>> ReadPromptInputs(const boost::json::value& value, std::string_view name);

}  // namespace inferd::gateway
