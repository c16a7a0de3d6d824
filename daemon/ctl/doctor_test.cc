#include "daemon/ctl/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace inferd::daemon {
namespace {

using testing::HasSubstr;

class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    Write("/proc/cpuinfo", "flags : fpu avx2 fma\n");
    Write("/proc/meminfo", "MemAvailable: 4096000 kB\n");
    Write("/proc/self/status", "Name: x\nSeccomp: 0\n");
    Write("/model.gguf", "GGUF");
  }
  void Write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text;
  }
  static Finding Of(const std::vector<Finding>& findings, const std::string& subject) {
    for (const Finding& finding : findings) {
      if (finding.subject == subject) return finding;
    }
    ADD_FAILURE() << subject;
    return {};
  }
  Finding Machine(const std::string& subject) { return Of(ExamineMachine(root_), subject); }
  Finding Configuration(const std::string& text, const std::string& subject) {
    Write("/inferd.yaml", "run_directory: " + root_ + "/run\n" + text);
    return Of(ExamineConfiguration(root_ + "/inferd.yaml", root_), subject);
  }

  const std::string root_ = (std::filesystem::path(testing::TempDir()) / "doctor_test").lexically_normal();
};

TEST_F(Doctor, HintsAtWhatMakesTheMachineSlow) {
  EXPECT_EQ(Machine("instructions").found, "avx2");
  EXPECT_EQ(Machine("huge pages").verdict, Verdict::kHint);
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_THAT(Machine("huge pages").advice, HasSubstr("echo madvise"));
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(Machine("huge pages").verdict, Verdict::kGood);
  EXPECT_EQ(Machine("cpu governor").verdict, Verdict::kGood);
  Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(Machine("cpu governor").verdict, Verdict::kHint);
  Write("/proc/cpuinfo", "flags : fpu sse2\n");
  EXPECT_EQ(Machine("instructions").verdict, Verdict::kHint);
  EXPECT_EQ(Machine("gpu").verdict, Verdict::kGood);
}

TEST_F(Doctor, FindsTheLeastQuotaOfTheGroupsAbove) {
  Write("/proc/self/cgroup", "0::/system.slice/inferd.service\n");
  EXPECT_EQ(Machine("cpu quota").found, "none");
  Write("/sys/fs/cgroup/system.slice/inferd.service/cpu.max", "max 100000\n");
  EXPECT_EQ(Machine("cpu quota").found, "none");
  Write("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(Machine("cpu quota").found, "1.50 processors");
}

TEST_F(Doctor, NamesFaultsOfTheConfigurationAndItsFiles) {
  EXPECT_EQ(Configuration("models: [", "configuration").verdict, Verdict::kFault);
  const std::string good =
      "listen: {http: '127.0.0.1:0', grpc: '127.0.0.1:0'}\nmodels: [{name: a, path: model.gguf}]\n";
  EXPECT_EQ(Configuration(good, "configuration").verdict, Verdict::kGood);
  EXPECT_EQ(Configuration(good, "models").found, "1, and all files are there");
  EXPECT_EQ(Configuration(good, "daemon").found, "does not run");
  EXPECT_EQ(Configuration(good, "listen.http").verdict, Verdict::kGood);
  const Finding gone = Configuration("models: [{name: a, path: gone.gguf}]", "model a");
  EXPECT_EQ(gone.verdict, Verdict::kFault);
  EXPECT_THAT(gone.found, HasSubstr("gone.gguf: No such file"));
  EXPECT_EQ(Configuration(good + "auth: {keys_file: gone.yaml}", "keys").verdict, Verdict::kFault);
}

TEST_F(Doctor, ComparesWhatModelsTakeWithWhatIsThere) {
  const std::string listen = "listen: {http: '127.0.0.1:0', grpc: '127.0.0.1:0'}\n";
  EXPECT_EQ(Configuration(listen + "models: [{name: a, path: model.gguf}]", "memory").verdict, Verdict::kGood);
  const Finding large =
      Configuration(listen + "models: [{name: a, path: model.gguf, kv_cache: {bytes: 8GiB}}]", "memory");
  EXPECT_EQ(large.verdict, Verdict::kHint);
  EXPECT_THAT(large.found, HasSubstr("4000 MiB are available"));
}

TEST_F(Doctor, PrintsAFaultAsAFailure) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(PrintFindings({{"a", Verdict::kGood, "x", ""}, {"b", Verdict::kHint, "y", "do z"}}, false), 0);
  EXPECT_EQ(PrintFindings({{"a", Verdict::kFault, "x", ""}}, true), 1);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("good   a                x\n"));
  EXPECT_THAT(text, HasSubstr("do z\n"));
  EXPECT_THAT(text, HasSubstr("[{\"subject\":\"a\",\"verdict\":\"fault\",\"found\":\"x\",\"advice\":\"\"}]"));
}

}  // namespace
}  // namespace inferd::daemon
