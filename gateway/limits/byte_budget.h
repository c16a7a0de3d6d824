// How many bytes of request bodies may be held at a time, by all requests together.
//
//   ByteBudget budget(1 << 30);
//   ByteShare share(&budget);                    // gives back what it has when it goes
//   if (!share.GrowTo(body.size())) return ...   // there is no room for it now
#pragma once

#include <atomic>
#include <cstdint>

namespace inferd::gateway {

// Safe for use by several threads.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t most) : most_(most), left_(most) {}

  // False: so much is not left.
  bool Take(uint64_t bytes) {
    uint64_t left = left_.load();
    do {
      if (bytes > left) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes));
    return true;
  }
  void Give(uint64_t bytes) { left_ += bytes; }
  uint64_t left() const { return left_; }
  uint64_t most() const { return most_; }

 private:
  const uint64_t most_;
  std::atomic<uint64_t> left_;
};

// What one request has of a budget.
class ByteShare {
 public:
  // Null: there is no bound.
  explicit ByteShare(ByteBudget* budget) : budget_(budget) {}
  ~ByteShare() {
    if (budget_ != nullptr) budget_->Give(bytes_);
  }
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;

  // False, and unchanged, if the budget has not enough.
  bool GrowTo(uint64_t bytes) {
    if (bytes <= bytes_ || budget_ == nullptr) return true;
    if (!budget_->Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  ByteBudget* const budget_;
  uint64_t bytes_ = 0;
};

}  // namespace inferd::gateway
