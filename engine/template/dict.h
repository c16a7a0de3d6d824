// Python's dict: keys in the order of their insertion, found by hash and equality.
//
//   Dict dict;
//   RETURN_IF_ERROR(dict.Set(heap, key, value));         // TypeError for a key that cannot be hashed
//   ASSIGN_OR_RETURN(const Value* found, dict.Find(heap, key));
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/template/value.h"

namespace inferd::chat_template {

class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  uint32_t depth() const { return depth_; }
  size_t memory_bytes() const { return entries_.capacity() * sizeof(Entry) + hashes_.capacity() * 48; }

  absl::Status Set(Heap& heap, Value key, Value value);
  void SetNew(Value string_key, Value value);  // the key is a string that is not in the dict yet
  absl::StatusOr<const Value*> Find(Heap& heap, const Value& key) const;  // null if absent
  const Value* Find(std::string_view key) const;

  void CountMemory(Heap& heap);  // once, when the dict is complete

 private:
  static constexpr size_t kIndexedSize = 8;  // below, a scan of the hashes is faster
  template <typename Equal>
  absl::StatusOr<size_t> IndexOf(size_t hash, Equal equal) const;
  void Append(size_t hash, Value key, Value value);

  std::vector<Entry> entries_;
  std::vector<size_t> hashes_;                         // of the keys, in the order of entries_
  std::unordered_multimap<size_t, uint32_t> indexed_;  // hash to place, from kIndexedSize entries on
  uint32_t depth_ = 1;
  std::unique_ptr<Charge> charge_;
};

}  // namespace inferd::chat_template
