#include "engine/tokenizer/merge_table.h"

#include <bit>

#include "config/base/status.h"

namespace inferd::tokenizer {
namespace {

absl::Status NoToken(size_t rank, std::string_view merge, std::string_view part) {
  return InvalidArgument("tokenizer.ggml.merges[{}] = \"{}\": \"{}\" is no token of tokenizer.ggml.tokens", rank, merge,
                         part);
}

}  // namespace

absl::StatusOr<MergeTable> MergeTable::Create(std::span<const std::string_view> merges, const Vocabulary& vocabulary) {
  MergeTable table;
  table.slots_.resize(std::bit_ceil(merges.size() * 4 / 3 + 1));
  std::string whole;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);  // a part may be a space itself in vocabularies of plain text
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return InvalidArgument("tokenizer.ggml.merges[{}] = \"{}\": expected two tokens and a space between", rank, merge);
    }
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    const int32_t left_id = vocabulary.Find(left), right_id = vocabulary.Find(right);
    if (left_id < 0) return NoToken(rank, merge, left);
    if (right_id < 0) return NoToken(rank, merge, right);
    whole.assign(left).append(right);
    const int32_t whole_id = vocabulary.Find(whole);
    if (whole_id < 0) return NoToken(rank, merge, whole);
    const uint64_t key = KeyOf(left_id, right_id);
    Slot& slot = table.slots_[table.Locate(key)];
    if (slot.key == kEmpty) slot = {key, {static_cast<uint32_t>(rank), whole_id}};
  }
  return table;
}

}  // namespace inferd::tokenizer
