// A progress bar on standard error, for work of known size; silent where standard error is no terminal.
//
//   Progress progress("writing", total_bytes);
//   progress.Advance(chunk.size());
#pragma once

#include <cstdint>
#include <string>

namespace inferd::tools {

class Progress {
 public:
  Progress(std::string label, uint64_t total);
  ~Progress();  // erases the bar
  void Advance(uint64_t amount);

 private:
  void Draw() const;

  const std::string label_;
  const uint64_t total_;
  const bool visible_;
  uint64_t done_ = 0;
  int drawn_percent_ = -1;
};

}  // namespace inferd::tools
