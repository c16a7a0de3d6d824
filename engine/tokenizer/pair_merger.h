// The loop that byte-pair encodings share: join the neighbours of the best rank, leftmost first, until none can join.
//
//   PairMerger merger;
//   merger.Start();
//   for (...) merger.Add(id, begin, end);
//   merger.Run([&](const Symbol& left, const Symbol& right) { return merges.Find(left.id, right.id); });
//   for (const Symbol& symbol : merger.result()) ids.push_back(symbol.id);
//
// Time: n^2 for a short text (a word), where that is the fastest; n log n for a long one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace inferd::tokenizer {

constexpr uint32_t kNoRank = 0xFFFFFFFF;

// What two neighbours join to. Lower ranks join first.
struct Join {
  uint32_t rank = kNoRank;
  int32_t id = -1;
};

// A part of the text, [begin, end) in bytes, and the token that spells it (-1: none).
struct Symbol {
  int32_t id;
  uint32_t begin, end;
};

class PairMerger {
 public:
  void Start() { symbols_.clear(); }
  void Add(int32_t id, uint32_t begin, uint32_t end) { symbols_.push_back({id, begin, end}); }

  // find: Join(const Symbol& left, const Symbol& right), kNoRank if the two do not join.
  template <typename Find>
  void Run(const Find& find) {
    if (symbols_.size() < 2) return;
    joins_.resize(symbols_.size() - 1);
    for (size_t i = 0; i + 1 < symbols_.size(); ++i) joins_[i] = find(symbols_[i], symbols_[i + 1]);
    if (symbols_.size() <= kShort) {
      RunShort(find);
    } else {
      RunLong(find);
    }
  }

  std::span<const Symbol> result() const { return symbols_; }

 private:
  static constexpr size_t kShort = 48;

  template <typename Find>
  void RunShort(const Find& find) {
    while (true) {
      const auto best =
          std::min_element(joins_.begin(), joins_.end(), [](const Join& a, const Join& b) { return a.rank < b.rank; });
      if (best == joins_.end() || best->rank == kNoRank) return;
      const size_t left = best - joins_.begin();
      symbols_[left] = {best->id, symbols_[left].begin, symbols_[left + 1].end};
      symbols_.erase(symbols_.begin() + left + 1);
      joins_.erase(best);
      if (left > 0) joins_[left - 1] = find(symbols_[left - 1], symbols_[left]);
      if (left < joins_.size()) joins_[left] = find(symbols_[left], symbols_[left + 1]);
    }
  }

  // Symbols stay where they are in an index-linked list; a heap holds (rank, left symbol) and may hold stale entries,
  // known by a rank that is no longer the symbol's own.
  template <typename Find>
  void RunLong(const Find& find) {
    const uint32_t count = static_cast<uint32_t>(symbols_.size());
    next_.resize(count);
    previous_.resize(count);
    heap_.clear();
    joins_.resize(count);  // the last symbol joins nothing
    joins_[count - 1] = {};
    for (uint32_t i = 0; i < count; ++i) {
      next_[i] = i + 1;
      previous_[i] = i - 1;
      if (joins_[i].rank != kNoRank) heap_.push_back(EntryOf(i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const uint64_t entry = heap_.back();
      heap_.pop_back();
      const uint32_t left = static_cast<uint32_t>(entry);
      if (joins_[left].rank != entry >> 32) continue;
      JoinWithNext(left, count, find);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i = next_[i]) symbols_[kept++] = symbols_[i];
    symbols_.resize(kept);
  }

  template <typename Find>
  void JoinWithNext(uint32_t left, uint32_t count, const Find& find) {
    const uint32_t right = next_[left];
    symbols_[left] = {joins_[left].id, symbols_[left].begin, symbols_[right].end};
    joins_[right] = {};
    next_[left] = next_[right];
    if (next_[left] < count) previous_[next_[left]] = left;
    if (left > 0) SetJoin(previous_[left], find(symbols_[previous_[left]], symbols_[left]));
    SetJoin(left, next_[left] < count ? find(symbols_[left], symbols_[next_[left]]) : Join{});
  }

  void SetJoin(uint32_t left, Join join) {
    joins_[left] = join;
    if (join.rank == kNoRank) return;
    heap_.push_back(EntryOf(left));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  uint64_t EntryOf(uint32_t left) const { return static_cast<uint64_t>(joins_[left].rank) << 32 | left; }

  std::vector<Symbol> symbols_;
  std::vector<Join> joins_;  // joins_[i]: of symbol i and its right neighbour
  std::vector<uint32_t> next_, previous_;
  std::vector<uint64_t> heap_;
};

}  // namespace inferd::tokenizer
