#include "gateway/routing/running_generations.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace inferd::gateway {

std::shared_ptr<void> RunningGenerations::Add(const Executor& executor, End end) {
  auto entry = std::make_shared<Entry>(Entry{executor, std::move(end)});
  absl::MutexLock lock(&mutex_);
  if (entries_.size() >= clean_at_) {
    std::erase_if(entries_, [](const auto& other) { return other.expired(); });
    clean_at_ = 2 * entries_.size() + 64;
  }
  entries_.push_back(entry);
  if (!ended_.ok()) Post(entry, executor, ended_);
  return entry;
}

void RunningGenerations::EndAll(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  ended_ = why;
  for (const auto& weak : entries_) {
    if (const auto entry = weak.lock()) Post(weak, entry->executor, why);
  }
}

absl::Status RunningGenerations::ended() {
  absl::MutexLock lock(&mutex_);
  return ended_;
}

void RunningGenerations::Post(const std::weak_ptr<Entry>& entry, const Executor& executor, const absl::Status& why) {
  boost::asio::post(executor, [entry, why] {
    if (const auto alive = entry.lock()) alive->end(why);
  });
}

}  // namespace inferd::gateway
