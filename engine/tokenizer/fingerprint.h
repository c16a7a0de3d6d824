// A hash of a vocabulary that is the same on every machine and in every run.
#pragma once

#include <cstdint>

#include "engine/tokenizer/vocabulary_data.h"

namespace inferd::tokenizer {

// Over everything that decides which ids a text has: equal for equal tokenizers. general.name is left out.
uint64_t FingerprintOf(const VocabularyData& data);

}  // namespace inferd::tokenizer
