// Text that remembers who wrote it: UTF-8 bytes in runs, each trusted (the template's own) or not (the request's).
//
//   Text prompt("<|user|>", /*trusted=*/true);
//   prompt.Append(message, /*trusted=*/false);
//   Text cut = prompt.Slice(3, 12);  // keeps the trust of every byte
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inferd::chat_template {

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_trusted_(trusted) {}

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  size_t memory_bytes() const { return bytes_.capacity() + flips_.capacity() * sizeof(size_t); }

  void Append(std::string_view bytes, bool trusted);
  void Append(const Text& other);
  // The bytes [begin, end) of `other`; both offsets lie within it.
  void AppendSlice(const Text& other, size_t begin, size_t end);
  Text Slice(size_t begin, size_t end) const;

  bool TrustedAt(size_t offset) const;
  // Calls visit(std::string_view run, bool trusted) for each run in order.
  template <typename Visit>
  void ForEachRun(Visit visit) const {
    size_t begin = 0;
    bool trusted = first_trusted_;
    for (size_t flip : flips_) {
      visit(std::string_view(bytes_).substr(begin, flip - begin), trusted);
      begin = flip;
      trusted = !trusted;
    }
    if (begin < bytes_.size()) visit(std::string_view(bytes_).substr(begin), trusted);
  }

 private:
  bool EndTrusted() const { return first_trusted_ == (flips_.size() % 2 == 0); }

  std::string bytes_;
  bool first_trusted_ = true;
  std::vector<size_t> flips_;  // ascending offsets in (0, size) at which the trust changes
};

}  // namespace inferd::chat_template
