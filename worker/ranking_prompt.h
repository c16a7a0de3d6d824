// A query and one document, as the tokens that a ranking model compares.
//
//   ASSIGN_OR_RETURN(RankingTokens prompt,
//                    RankingPrompt(*model.tokenizer, model.rank_template, query, document, 0));
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tokenizer/tokenizer.h"

namespace inferd::worker {

struct RankingTokens {
  std::vector<int32_t> ids;
  std::optional<int64_t> document;  // index of its first token, where query and document are a pair of texts
};

// By the file's own template ("... {query} ... {document} ...", tokenizer.chat_template.rerank), whose special tokens
// are parsed, or without one as the tokenizer joins two texts. With `most_tokens`, as much of the document's beginning
// as fits; more than that, where the query alone is longer.
absl::StatusOr<RankingTokens> RankingPrompt(const tokenizer::Tokenizer& tokenizer, std::string_view rank_template,
                                            std::string_view query, std::string_view document, size_t most_tokens);

}  // namespace inferd::worker
