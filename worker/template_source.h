// The source of a model's chat template: an operator's file, a common template, or the model file's own.
//
//   ASSIGN_OR_RETURN(TemplateSource source, FindTemplate(options, *file));
//   if (source.text.empty()) ...   // the model takes plain text alone
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "engine/gguf/gguf_file.h"

namespace inferd::worker {

struct TemplateSource {
  std::string text;    // empty: there is none
  std::string option;  // that names it, for errors; empty: none, it is the model's own
  std::string name;    // for errors: the file, the fallback's name or the metadata key
};

// A blank template in the model's file counts as none. Errors name the option or the metadata key: the operator's file
// cannot be read, is empty or is larger than 4 MiB.
absl::StatusOr<TemplateSource> FindTemplate(const config::ModelOptions& options, const gguf::GgufFile& file);

}  // namespace inferd::worker
