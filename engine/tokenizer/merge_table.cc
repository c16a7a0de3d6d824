#include "engine/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>

#include "config/base/status.h"

namespace inferd::tokenizer {

absl::StatusOr<MergeTable> MergeTable::Create(std::span<const std::string_view> merges, const Vocabulary& vocabulary) {
  MergeTable table;
  table.slots_.resize(std::bit_ceil(merges.size() * 4 / 3 + 1));
  Batch batch;
  for (batch.first_rank = 0; batch.first_rank < merges.size(); batch.first_rank += Batch::kSize) {
    batch.size = std::min(Batch::kSize, merges.size() - batch.first_rank);
    const auto part = merges.subspan(batch.first_rank, batch.size);
    RETURN_IF_ERROR(SplitMerges(part, batch));
    vocabulary.FindAll(std::span(batch.spellings).first(3 * batch.size), batch.ids);
    RETURN_IF_ERROR(table.AddMerges(part, batch));
  }
  return table;
}

absl::Status MergeTable::SplitMerges(std::span<const std::string_view> merges, Batch& batch) {
  batch.wholes.clear();
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ', 1);  // a part may be a space itself in vocabularies of plain text
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return InvalidArgument("tokenizer.ggml.merges[{}] = \"{}\": expected two tokens and a space between",
                             batch.first_rank + i, merge);
    }
    batch.spellings[3 * i] = merge.substr(0, space);
    batch.spellings[3 * i + 1] = merge.substr(space + 1);
    batch.wholes.append(batch.spellings[3 * i]).append(batch.spellings[3 * i + 1]);
  }
  size_t begin = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    const size_t bytes = merges[i].size() - 1;
    batch.spellings[3 * i + 2] = std::string_view(batch.wholes).substr(begin, bytes);
    begin += bytes;
  }
  return absl::OkStatus();
}

absl::Status MergeTable::AddMerges(std::span<const std::string_view> merges, const Batch& batch) {
  for (size_t i = 0; i < 3 * batch.size; ++i) {
    if (batch.ids[i] < 0) {
      return InvalidArgument("tokenizer.ggml.merges[{}] = \"{}\": \"{}\" is no token of tokenizer.ggml.tokens",
                             batch.first_rank + i / 3, merges[i / 3], batch.spellings[i]);
    }
  }
  const auto key = [&](size_t i) { return KeyOf(batch.ids[3 * i], batch.ids[3 * i + 1]); };
  for (size_t i = 0; i < batch.size; ++i) __builtin_prefetch(&slots_[Home(key(i))]);
  for (size_t i = 0; i < batch.size; ++i) {
    Slot& slot = slots_[Locate(key(i))];
    if (slot.key == kEmpty) slot = {key(i), {static_cast<uint32_t>(batch.first_rank + i), batch.ids[3 * i + 2]}};
  }
  return absl::OkStatus();
}

}  // namespace inferd::tokenizer
