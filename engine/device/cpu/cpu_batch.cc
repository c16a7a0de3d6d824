#include "engine/device/cpu/cpu_batch.h"

#include <algorithm>

#include "engine/device/cache_layout.h"

namespace inferd::device {
namespace {

constexpr int64_t kWriteTokens = 32;  // tokens whose K and V one item writes: whole lines of f16

}  // namespace

CpuBatch::CpuBatch(const cache::HostPageMemory& memory, const cache::CacheLayout& layout, LayerRange layers,
                   int64_t most_rows)
    : memory_(memory),
      layers_(layers),
      group_of_(GroupsOf(layout)),
      groups_(layout.groups.size()),
      positions_(most_rows),
      token_types_(most_rows),
      addresses_(group_of_.size()) {}

void CpuBatch::Begin(const Batch& batch) {
  batch_ = batch;
  rows_ = static_cast<int64_t>(batch.tokens.size());
  runs_.clear();
  for (const BatchSequence& sequence : batch_.sequences) {
    for (int64_t done = 0; done < sequence.tokens;) {
      const int64_t position = sequence.first_position + done;
      const int64_t tokens = std::min(sequence.tokens - done, kWriteTokens - position % kWriteTokens);
      runs_.push_back({&sequence, sequence.row_begin + done, tokens, position});
      for (int64_t i = 0; i < tokens; ++i) {
        positions_[sequence.row_begin + done + i] = position + i;
        token_types_[sequence.row_begin + done + i] = position + i < sequence.second_text ? 0 : 1;
      }
      done += tokens;
    }
  }
  FindPages();
}

// The kernels take addresses: those of all sequences' pages, one after the other, for each layer.
void CpuBatch::FindPages() {
  first_page_.clear();
  std::vector<int64_t> pages(groups_, 0);
  for (const BatchSequence& sequence : batch_.sequences) {
    for (size_t group = 0; group < groups_; ++group) {
      first_page_.push_back(pages[group]);
      pages[group] += static_cast<int64_t>(sequence.tables[group].pages.size());
    }
  }
  for (int32_t layer = layers_.begin; layer < layers_.end; ++layer) {
    if (group_of_[layer] < 0) continue;
    const auto group = static_cast<size_t>(group_of_[layer]);
    std::vector<void*>& addresses = addresses_[layer];
    addresses.clear();
    for (const BatchSequence& sequence : batch_.sequences) {
      for (int32_t page : sequence.tables[group].pages) {
        addresses.push_back(page < 0 ? nullptr : memory_.Page(page, layer));
      }
    }
  }
}

void* const* CpuBatch::PagesOf(int32_t layer, const BatchSequence& sequence) const {
  const auto index = static_cast<size_t>(&sequence - batch_.sequences.data());
  return addresses_[layer].data() + first_page_[index * groups_ + static_cast<size_t>(group_of_[layer])];
}

float* CpuBatch::StateOf(int32_t layer, const BatchSequence& sequence) const {
  return reinterpret_cast<float*>(memory_.State(sequence.slot, layer));
}

}  // namespace inferd::device
