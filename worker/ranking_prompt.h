// A query and one document, as the tokens that a ranking model compares.
//
//   ASSIGN_OR_RETURN(std::vector<int32_t> ids, RankingPrompt(*model.tokenizer, model.rank_template, query, document,
//   0));
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::worker {

// By the file's own template ("... {query} ... {document} ...", tokenizer.chat_template.rerank), whose special tokens
// are parsed, or without one as the tokenizer joins two texts. With `most_tokens`, as much of the document's beginning
// as fits; more than that, where the query alone is longer.
absl::StatusOr<std::vector<int32_t>> RankingPrompt(const tokenizer::Tokenizer& tokenizer,
                                                   std::string_view rank_template, std::string_view query,
                                                   std::string_view document, size_t most_tokens);

}  // namespace inferd::worker
