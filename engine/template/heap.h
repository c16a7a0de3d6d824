// What one render may use, and the only maker of its values: steps, memory, string sizes and depth are counted here.
//
//   Heap heap(limits);
//   RETURN_IF_ERROR(heap.Step());                       // before any piece of work
//   RETURN_IF_ERROR(heap.CheckString(count * size));    // before making a string that may be huge
//   return heap.String(std::move(text));
//
// A limit that is passed while a value is made is reported by the next Step(): makers themselves do not fail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/template/chat_template.h"
#include "engine/template/dict.h"
#include "engine/template/object.h"
#include "engine/template/value.h"

namespace inferd::chat_template {

class Heap {
 public:
  static constexpr uint32_t kMaxValueDepth = 200;  // of containers in containers

  explicit Heap(const Limits& limits) : limits_(limits) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // RESOURCE_EXHAUSTED when a limit has been passed.
  absl::Status Step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ <= limits_.steps && live_bytes_ <= limits_.memory_bytes && !too_deep_) [[likely]] {
      return absl::OkStatus();
    }
    return Exceeded();
  }
  // Before a string of `bytes` is made; counts the work of making it.
  absl::Status CheckString(uint64_t bytes);
  // The same for a string that is made bit by bit: the whole so far, without its work.
  absl::Status CheckSize(uint64_t bytes) const;
  // Before a container of `count` elements is made.
  absl::Status CheckElements(uint64_t count);

  Value Undefined(std::string message);  // used wrongly, it fails with this message
  Value String(Text text, bool markup = false);
  Value String(std::string_view trusted) { return String(Text(std::string(trusted), true)); }
  Value List(std::vector<Value> items);
  Value Tuple(std::vector<Value> items);
  Value Group(Value grouper, Value list);  // of the filter groupby
  Value OfDict(Dict dict);
  std::shared_ptr<const Sequence> NewSequence(std::vector<Value> items);
  // Dies with its last value.
  Value OfObject(std::shared_ptr<Object> object);
  // Lives to the end of the render, as it may come to hold itself.
  Value Keep(std::unique_ptr<Object> object);

  void Allocate(size_t bytes) { live_bytes_ += bytes; }
  void Release(size_t bytes) { live_bytes_ -= bytes; }

  // Memory that is no value's, counted for the life of the object; RESOURCE_EXHAUSTED when a limit has been passed.
  class Scratch {
   public:
    explicit Scratch(Heap& heap) : heap_(heap) {}
    ~Scratch() { heap_.Release(bytes_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    absl::Status Add(size_t bytes) {
      heap_.Allocate(bytes);
      bytes_ += bytes;
      return heap_.Step(0);
    }

   private:
    Heap& heap_;
    size_t bytes_ = 0;
  };

  // One level of nested evaluation, for the life of the object; ok() is false beyond the limit.
  class Level {
   public:
    explicit Level(Heap& heap) : heap_(heap) { ++heap_.depth_; }
    ~Level() { --heap_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    absl::Status Check() const;

   private:
    Heap& heap_;
  };

 private:
  absl::Status Exceeded() const;
  void NoteDepth(uint32_t depth) { too_deep_ = too_deep_ || depth > kMaxValueDepth; }

  const Limits limits_;
  uint64_t steps_ = 0;
  uint64_t live_bytes_ = 0;
  uint32_t depth_ = 0;
  bool too_deep_ = false;
  std::vector<std::unique_ptr<Object>> kept_;
};

}  // namespace inferd::chat_template
