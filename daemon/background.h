// Work that may block (reading files), done beside the loop; its result comes back to the loop.
//
//   background.Run<absl::StatusOr<FileIdentity>>([path] { return IdentifyFile(path); }, [&](auto identity) { ... });
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/event_loop.h"

namespace inferd::daemon {

class Background {
 public:
  explicit Background(EventLoop& loop) : loop_(loop) {}

  template <typename Result>
  void Run(std::function<Result()> work, std::function<void(Result)> done) {
    std::erase_if(tasks_, [](const auto& task) { return task->finished; });
    auto task = std::make_shared<Task>();
    tasks_.push_back(task);
    task->thread =
        std::jthread([&loop = loop_, task_pointer = task.get(), work = std::move(work), done = std::move(done)] {
          Result result = work();
          loop.Post([task_pointer, done, result = std::move(result)]() mutable {
            task_pointer->finished = true;
            done(std::move(result));
          });
        });
  }

 private:
  // A thread is joined when its task is erased, at the next Run or at the end.
  struct Task {
    bool finished = false;  // on the loop's thread
    std::jthread thread;
  };
  EventLoop& loop_;
  std::vector<std::shared_ptr<Task>> tasks_;
};

}  // namespace inferd::daemon
