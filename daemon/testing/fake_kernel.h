// For tests: folders of plain files in place of those that the kernel shows.
//
//   FakeKernel kernel;
//   kernel.Write("proc/meminfo", "MemAvailable: 8000 kB\n");
//   EXPECT_EQ(AvailableMemoryBy(kernel.folders), 8000u << 10);
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/memory.h"

namespace inferd::daemon {

struct FakeKernel {
  FakeKernel() {
    char path[] = "/tmp/inferd-kernel-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    folder = path;
    folders = {.proc = folder + "/proc", .cgroup = folder + "/cgroup"};
  }
  ~FakeKernel() { std::filesystem::remove_all(folder); }
  FakeKernel(const FakeKernel&) = delete;

  void Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name) << content;
  }

  std::string folder;
  KernelFolders folders;
};

}  // namespace inferd::daemon
