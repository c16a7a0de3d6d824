// A list of streams with something to write; one that is on it is not added again.
#include "worker/delivery.h"

#include <algorithm>
#include <utility>

namespace inferd::worker {

Delivery::Delivery() : thread_([this] { Run(); }) {}

Delivery::~Delivery() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Delivery::Wake(std::shared_ptr<Deliverable> stream) {
  absl::MutexLock lock(&mutex_);
  if (std::find(awake_.begin(), awake_.end(), stream) == awake_.end()) awake_.push_back(std::move(stream));
}

void Delivery::Run() {
  while (true) {
    std::vector<std::shared_ptr<Deliverable>> awake;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !awake_.empty(); };
      mutex_.Await(absl::Condition(&has_work));
      if (awake_.empty()) return;
      std::swap(awake, awake_);
    }
    for (const std::shared_ptr<Deliverable>& stream : awake) stream->WriteNext();
  }
}

}  // namespace inferd::worker
