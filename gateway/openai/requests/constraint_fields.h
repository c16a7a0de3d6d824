// The fields that bind the form of an output, by all the names that clients of other servers know them by:
// response_format; grammar and json_schema (llama.cpp); guided_* and structured_outputs (vLLM); regex and ebnf
// (SGLang).
//
//   ASSIGN_OR_RETURN(common.constraint_name, ReadConstraint(fields, request));
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "gateway/json/fields.h"

namespace inferd::v1 {
class GenerateRequest;
}

namespace inferd::gateway {

// The name of the field that was given, for errors that come later; empty: none. INVALID_ARGUMENT names the field that
// is wrong, or that is one too many.
absl::StatusOr<std::string_view> ReadConstraint(Fields& fields, v1::GenerateRequest& request);

}  // namespace inferd::gateway
