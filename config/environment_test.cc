#include "config/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "config/base/status.h"

namespace inferd::config {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Sets a variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

TEST(InstructionSet, IsKnownByEveryName) {
  for (const std::string_view name : InstructionSetNames()) {
    const auto set = ParseInstructionSet(name);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(NameOf(*set), name);
  }
  EXPECT_EQ(ParseInstructionSet("reference").value(), InstructionSet::kReference);
  EXPECT_EQ(ParseInstructionSet("neon").value(), InstructionSet::kNeon);
  EXPECT_EQ(ParseInstructionSet("neon_i8mm").value(), InstructionSet::kNeonI8mm);
  EXPECT_THAT(std::string(MessageOf(ParseInstructionSet("AVX2").status())),
              HasSubstr("\"AVX2\" is not one of auto, reference"));
}

TEST(InstructionSet, OfTheEnvironmentGoesBeforeTheConfigured) {
  EXPECT_EQ(ChosenInstructionSet(InstructionSet::kAvx2).value(), InstructionSet::kAvx2);
  {
    const Variable variable("INFERD_ISA", "reference");
    EXPECT_EQ(ChosenInstructionSet(InstructionSet::kAvx2).value(), InstructionSet::kReference);
  }
  {
    const Variable variable("INFERD_ISA", "");
    EXPECT_EQ(ChosenInstructionSet(InstructionSet::kAvx2).value(), InstructionSet::kAvx2);
  }
  const Variable variable("INFERD_ISA", "mmx");
  EXPECT_THAT(std::string(MessageOf(ChosenInstructionSet(InstructionSet::kAuto).status())), StartsWith("INFERD_ISA: "));
}

TEST(EnvironmentForChildren, KeepsWhatIsNotMeantForTheDaemonAlone) {
  const Variable kept("INFERD_ISA", "reference");
  const Variable alike("NOTIFY_SOCKETS", "1");
  const Variable notify("NOTIFY_SOCKET", "/run/systemd/notify");
  const Variable watchdog("WATCHDOG_USEC", "1");
  const Variable watched("WATCHDOG_PID", "1");
  const Variable sockets("LISTEN_FDS", "1");
  const Variable listener("LISTEN_PID", "1");
  const std::vector<std::string> environment = EnvironmentForChildren();
  EXPECT_THAT(environment, Contains("INFERD_ISA=reference"));
  EXPECT_THAT(environment, Contains("NOTIFY_SOCKETS=1"));
  for (const char* name : {"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "LISTEN_FDS=", "LISTEN_PID="}) {
    EXPECT_THAT(environment, Not(Contains(StartsWith(name))));
  }
}

TEST(HomeDirectory, IsEmptyWhereItIsNotSet) {
  const std::string before = HomeDirectory();
  {
    const Variable variable("HOME", "/home/a");
    EXPECT_EQ(HomeDirectory(), "/home/a");
  }
  EXPECT_EQ(HomeDirectory(), "");
  if (!before.empty()) setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace inferd::config
