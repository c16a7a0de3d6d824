// For tests: a pipe, and what can be read of it at once.
//
//   Pipe pipe;
//   Write(pipe.write_end.get());
//   EXPECT_EQ(pipe.ReadAvailable(), "...");
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>

#include "config/base/unique_fd.h"

namespace inferd {

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read_end = UniqueFd(fds[0]);
    write_end = UniqueFd(fds[1]);
  }
  // Everything until the write end is closed or nothing more comes at once.
  std::string ReadAvailable() {
    std::string out;
    pollfd entry{read_end.get(), POLLIN, 0};
    char buffer[65536];
    while (poll(&entry, 1, 0) > 0) {
      const ssize_t count = read(read_end.get(), buffer, sizeof buffer);
      if (count <= 0) break;
      out.append(buffer, static_cast<size_t>(count));
    }
    return out;
  }
};

}  // namespace inferd
