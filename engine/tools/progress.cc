#include "engine/tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "config/base/print.h"

namespace inferd::tools {
namespace {
constexpr int kBarWidth = 40;  // characters
}

Progress::Progress(std::string label, uint64_t total)
    : label_(std::move(label)), total_(total), visible_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (visible_ && drawn_percent_ >= 0) PrintStderr("\r\033[K");
}

void Progress::Advance(uint64_t amount) {
  done_ += amount;
  const int percent = total_ == 0 ? 100 : static_cast<int>(std::min<uint64_t>(100, done_ * 100 / total_));
  if (percent == drawn_percent_) return;
  drawn_percent_ = percent;
  if (visible_) Draw();
}

void Progress::Draw() const {
  const int filled = kBarWidth * drawn_percent_ / 100;
  PrintStderr("\r{} [{}{}] {:3}%", label_, std::string(filled, '#'), std::string(kBarWidth - filled, ' '),
              drawn_percent_);
  std::fflush(stderr);
}

}  // namespace inferd::tools
