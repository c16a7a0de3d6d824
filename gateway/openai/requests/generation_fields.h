// The fields that chat and text completions share: sampling, limits, stop texts, constraint, priority.
//
//   GenerationFields common;
//   RETURN_IF_ERROR(ReadGenerationFields(fields, request, common));
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gateway/api/serve_generation.h"
#include "gateway/json/fields.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::gateway {

// What the gateway itself needs of them.
struct GenerationFields : GenerationOptions {
  // Empty: not given.
  std::string model;
  bool include_usage = false;
  bool return_token_ids = false;
  // Of the field that binds the output's form; empty: there is none.
  std::string_view constraint_name;
  // By any of its names, also where it says "no limit".
  bool has_max_tokens = false;
};

// INVALID_ARGUMENT names the field.
absl::Status ReadGenerationFields(Fields& fields, v1::GenerateRequest& request, GenerationFields& common);

}  // namespace inferd::gateway
