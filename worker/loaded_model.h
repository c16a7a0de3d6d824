// One model version, ready to answer: file, tokenizer, chat template and engine.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadModel(options, isa, version));
//   model->engine->Submit(...);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "engine/conversation/abilities.h"
#include "engine/engine.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/model.h"
#include "engine/output/answer_format.h"
#include "engine/template/chat_template.h"
#include "engine/tokenizer/tokenizer.h"
#include "worker/prefix_store.h"

namespace inferd::worker {

struct LoadedModel {
  config::ModelOptions options;
  uint64_t version = 0;
  std::shared_ptr<const gguf::GgufFile> file;
  std::shared_ptr<const model::Model> model;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<chat_template::ChatTemplate> chat_template;  // nullptr: neither file nor configuration has one
  conversation::Abilities abilities;                           // of the template
  output::AnswerFormat answer_format;                          // of the template
  uint64_t template_digest = 0;                                // of an operator's template; 0: there is none
  std::string rank_template;                                   // with {query} and {document}; empty: the file has none
  std::unique_ptr<engine::Engine> engine;                      // last: it uses the others
  uint64_t draft_file_bytes = 0;                               // 0 also where one file is the model and its draft model
  int64_t file_time_unix_seconds = 0;
  int64_t loaded_unix_seconds = 0;

  std::string fingerprint() const;  // "fp_" and 16 hexadecimal digits
  std::string tokenizer_fingerprint() const;
  // Of all that decides what a page of the KV cache holds: more than the fingerprint, which knows the weights by their
  // table alone.
  std::string cache_identity() const;
  bool can_generate() const { return !model->spec().encoder; }
  bool can_rank() const { return model->spec().pooling == model::Pooling::kRank; }
};

// Maps and checks the file, verifies (engine/self_test.h) and starts the engine. Errors name the file, metadata key or
// tensor at fault. `prefixes`: what the prefix cache begins with, or null; where it is of no use, the log says why.
absl::StatusOr<std::unique_ptr<LoadedModel>> LoadModel(const config::ModelOptions& options, const std::string& isa,
                                                       uint64_t version, PrefixStore* prefixes = nullptr);

// The errors of LoadModel that files and options are to blame for, found without computing anything: `inferd --check`
// asks for them. INVALID_ARGUMENT and others; where it is not the model's own file, they begin with the option.
absl::Status CheckModel(const config::ModelOptions& options, const std::string& isa);

// The type that holds most of the weights' bytes: "Q4_1".
std::string QuantizationOf(const gguf::GgufFile& file);

}  // namespace inferd::worker
