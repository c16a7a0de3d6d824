// The tokens of one sequence in two parts: a prompt that it shares with others of the request, and its own.
//
//   TokenText text(request.prompt);                          // no copy: the prompt outlives the text
//   text.push_back(7);
//   std::vector<int32_t> scratch;
//   std::span<const int32_t> chunk = text.view().Piece(60, 64, scratch);
//
// A request with 128 choices holds a long prompt once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace inferd::engine {

class TokenView {
 public:
  TokenView() = default;
  TokenView(const std::vector<int32_t>& tokens) : shared_(tokens) {}  // NOLINT: a text of one part
  TokenView(std::span<const int32_t> shared, std::span<const int32_t> own) : shared_(shared), own_(own) {}

  size_t size() const { return shared_.size() + own_.size(); }
  int32_t operator[](size_t i) const { return i < shared_.size() ? shared_[i] : own_[i - shared_.size()]; }
  int32_t back() const { return (*this)[size() - 1]; }

  // Tokens first .. first + count - 1 in one piece: copied to `scratch` only where they lie in both parts.
  std::span<const int32_t> Piece(size_t first, size_t count, std::vector<int32_t>& scratch) const {
    if (first >= shared_.size()) return own_.subspan(first - shared_.size(), count);
    if (first + count <= shared_.size()) return shared_.subspan(first, count);
    const std::span<const int32_t> front = shared_.subspan(first);
    scratch.assign(front.begin(), front.end());
    const std::span<const int32_t> rest = own_.first(count - front.size());
    scratch.insert(scratch.end(), rest.begin(), rest.end());
    return scratch;
  }
  std::span<const int32_t> All(std::vector<int32_t>& scratch) const { return Piece(0, size(), scratch); }

 private:
  std::span<const int32_t> shared_, own_;
};

class TokenText {
 public:
  explicit TokenText(std::span<const int32_t> shared) : shared_(shared) {}

  TokenView view() const { return {shared_, own_}; }
  size_t size() const { return shared_.size() + own_.size(); }
  int32_t back() const { return view().back(); }
  void push_back(int32_t token) { own_.push_back(token); }

  // Leaves out tokens first .. first + count - 1; those of the shared part after them become its own.
  void Erase(size_t first, size_t count) {
    std::vector<int32_t> own;
    for (size_t i = std::min(first, shared_.size()); i < size(); ++i) {
      if (i < first || i >= first + count) own.push_back(view()[i]);
    }
    shared_ = shared_.first(std::min(first, shared_.size()));
    own_ = std::move(own);
  }

 private:
  std::span<const int32_t> shared_;
  std::vector<int32_t> own_;
};

}  // namespace inferd::engine
