#include "engine/device/split/split_page_memory.h"

#include <algorithm>

#include "config/base/status.h"

namespace inferd::device {
namespace {

// The same groups, with the layers of the range alone.
cache::CacheLayout PartOf(const cache::CacheLayout& layout, LayerRange layers) {
  cache::CacheLayout part = layout;
  for (cache::CacheLayout::Group& group : part.groups) {
    std::erase_if(group.layers, [&](int32_t layer) { return !layers.Has(layer); });
  }
  for (int32_t layer = 0; layer < static_cast<int32_t>(layout.page_bytes.size()); ++layer) {
    if (!layers.Has(layer)) part.page_bytes[layer] = part.state_bytes[layer] = 0;
  }
  return part;
}

// As many as pages of `blocks` blocks can take of the part's layers, whatever their groups.
int64_t BlocksOf(const cache::CacheLayout& whole, const cache::CacheLayout& part, int64_t blocks) {
  int64_t most = 0;
  for (size_t group = 0; group < whole.groups.size(); ++group) {
    const auto all = static_cast<int64_t>(whole.groups[group].layers.size());
    const auto own = static_cast<int64_t>(part.groups[group].layers.size());
    most = std::max(most, (blocks * own + all - 1) / all);
  }
  return most;
}

}  // namespace

absl::Status SplitPageMemory::Create(const cache::CacheLayout& layout, const cache::PoolSize& size) {
  for (const Part& part : parts_) {
    const cache::CacheLayout own = PartOf(layout, part.layers);
    slot_bytes_.push_back(static_cast<size_t>(cache::SlotBytes(own)));
    cache::PoolSize own_size = size;
    own_size.blocks = BlocksOf(layout, own, size.blocks);
    RETURN_IF_ERROR(part.memory->Create(own, own_size));
  }
  return absl::OkStatus();
}

cache::PageMemory& SplitPageMemory::Of(int32_t layer) const {
  return *std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.layers.Has(layer); })->memory;
}

void SplitPageMemory::Allocate(int32_t page, int32_t group) {
  for (const Part& part : parts_) part.memory->Allocate(page, group);
}

void SplitPageMemory::Free(int32_t page) {
  for (const Part& part : parts_) part.memory->Free(page);
}

void SplitPageMemory::Copy(int32_t from, int32_t to) {
  for (const Part& part : parts_) part.memory->Copy(from, to);
}

absl::Status SplitPageMemory::Read(int32_t page, int32_t layer, std::span<uint8_t> bytes) {
  return Of(layer).Read(page, layer, bytes);
}

absl::Status SplitPageMemory::Write(int32_t page, int32_t layer, std::span<const uint8_t> bytes) {
  return Of(layer).Write(page, layer, bytes);
}

void SplitPageMemory::ZeroState(int32_t slot) {
  for (const Part& part : parts_) part.memory->ZeroState(slot);
}

void SplitPageMemory::CopyState(int32_t from, int32_t to) {
  for (const Part& part : parts_) part.memory->CopyState(from, to);
}

absl::Status SplitPageMemory::ReadState(int32_t slot, std::span<uint8_t> bytes) {
  size_t begin = 0;
  for (size_t part = 0; part < parts_.size(); begin += slot_bytes_[part++]) {
    RETURN_IF_ERROR(parts_[part].memory->ReadState(slot, bytes.subspan(begin, slot_bytes_[part])));
  }
  return absl::OkStatus();
}

absl::Status SplitPageMemory::WriteState(int32_t slot, std::span<const uint8_t> bytes) {
  size_t begin = 0;
  for (size_t part = 0; part < parts_.size(); begin += slot_bytes_[part++]) {
    RETURN_IF_ERROR(parts_[part].memory->WriteState(slot, bytes.subspan(begin, slot_bytes_[part])));
  }
  return absl::OkStatus();
}

}  // namespace inferd::device
