// What the kernel tells of the machine.
#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/ctl/doctor.h"

namespace inferd::daemon {
namespace {

namespace fs = std::filesystem;

std::string Contents(const std::string& file) {
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

Finding HugePages(const std::string& root) {
  const std::string text = Contents(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = text.find('['), end = text.find(']');
  if (begin == text.npos || end == text.npos) {
    return {"huge pages", Verdict::kHint, "the kernel does not tell of transparent huge pages", ""};
  }
  const std::string mode = text.substr(begin + 1, end - begin - 1);
  if (mode != "never") return {"huge pages", Verdict::kGood, "transparent huge pages: " + mode, ""};
  return {"huge pages", Verdict::kHint, "transparent huge pages: never",
          "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled makes large KV pools faster"};
}

Finding Governor(const std::string& root) {
  const std::string governor = Contents(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return {"cpu governor", Verdict::kGood, "the kernel does not govern the clock", ""};
  if (governor != "powersave" && governor != "conservative") return {"cpu governor", Verdict::kGood, governor, ""};
  return {"cpu governor", Verdict::kHint, governor, "cpupower frequency-set --governor performance shortens answers"};
}

// "MAX PERIOD" of each group from ours up, version 2.
Finding Quota(const std::string& root) {
  std::istringstream groups(Contents(root + "/proc/self/cgroup"));
  std::string line, group = "/";
  while (std::getline(groups, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  double least = 0;
  for (fs::path path = group; path.has_relative_path(); path = path.parent_path()) {
    std::istringstream text(Contents(root + "/sys/fs/cgroup" + path.string() + "/cpu.max"));
    double most = 0, period = 0;
    if (text >> most >> period && period > 0) least = least == 0 ? most / period : std::min(least, most / period);
  }
  if (least == 0) return {"cpu quota", Verdict::kGood, "none", ""};
  return {"cpu quota", Verdict::kHint, fmt::format("{:.2f} processors", least),
          "threads of a model should be no more than that, or its steps stop in their middle"};
}

Finding InstructionSet(const std::string& root) {
  const std::string text = " " + Contents(root + "/proc/cpuinfo") + " ";
  const auto has = [&](std::string_view flag) { return text.find(fmt::format(" {} ", flag)) != text.npos; };
  if (has("asimddp")) return {"instructions", Verdict::kGood, has("i8mm") ? "neon with i8mm" : "neon", ""};
  if (has("avx512_vnni") && has("avx512bw")) return {"instructions", Verdict::kGood, "avx512 with vnni", ""};
  if (has("avx_vnni")) return {"instructions", Verdict::kGood, "avx2 with vnni", ""};
  if (has("avx2") && has("fma")) return {"instructions", Verdict::kGood, "avx2", ""};
  return {"instructions", Verdict::kHint, "none that inferd has fast kernels for",
          "the reference kernels give the same answers, but are far slower: use a machine with AVX2 or NEON"};
}

// Log lines, deadlines of keys and rates by the minute go by it.
Finding WallClock() {
  timex state{};
  const int result = adjtimex(&state);
  if (result < 0) return {"clock", Verdict::kHint, "the kernel does not tell whether the clock is synchronized", ""};
  if ((state.status & STA_UNSYNC) == 0) return {"clock", Verdict::kGood, "synchronized", ""};
  return {"clock", Verdict::kHint, "not synchronized",
          "run systemd-timesyncd or chrony, so that log lines can be compared"};
}

Finding Sandbox(const std::string& root) {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const bool filters = Contents(root + "/proc/self/status").find("\nSeccomp:") != std::string::npos;
  utsname kernel{};
  uname(&kernel);
  const std::string found = fmt::format("kernel {}, Landlock {}, system call filters {}", kernel.release,
                                        abi > 0 ? fmt::format("ABI {}", abi) : "none", filters ? "yes" : "no");
  if (abi > 0 && filters) return {"sandbox", Verdict::kGood, found, ""};
  return {
      "sandbox", Verdict::kHint, found,
      "workers run with less protection from hostile files: use a kernel of 5.13 or later with both, and lsm=landlock"};
}

Finding Gpu(const std::string& root) {
  const std::string driver = Contents(root + "/proc/driver/nvidia/version");
  if (driver.empty()) return {"gpu", Verdict::kGood, "no driver: models run on the processors", ""};
  return {"gpu", Verdict::kGood, driver.substr(0, driver.find('\n')), ""};
}

}  // namespace

std::vector<Finding> ExamineMachine(const std::string& root) {
  return {InstructionSet(root), Governor(root), Quota(root), HugePages(root), WallClock(), Sandbox(root), Gpu(root)};
}

}  // namespace inferd::daemon
