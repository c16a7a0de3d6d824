#include "config/units.h"

#include <gtest/gtest.h>

namespace inferd::config {
namespace {

TEST(ByteSize, ReadsEveryUnit) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},
      {"17", 17},
      {"17B", 17},
      {"2KiB", 2048},
      {"512MiB", 536870912},
      {"1GiB", 1u << 30},
      {"2kB", 2000},
      {"3MB", 3'000'000},
      {"1GB", 1'000'000'000},
      {"1TiB", uint64_t{1} << 40},
      {"1TB", 1'000'000'000'000},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(*ParseByteSize(text), bytes) << text;
}

TEST(ByteSize, RefusesWhatIsNone) {
  for (const char* text :
       {"", "MiB", "1 MiB", "-1", "+1", "1.5GiB", "1gib", "0x10", "1MiBx", "18446744073709551616", "16777216TiB"}) {
    EXPECT_FALSE(ParseByteSize(text).ok()) << text;
  }
}

TEST(ByteSize, FormatsTheShortestExactForm) {
  EXPECT_EQ(FormatByteSize(0), "0B");
  EXPECT_EQ(FormatByteSize(1500), "1500B");
  EXPECT_EQ(FormatByteSize(1536 * 1024), "1536KiB");
  EXPECT_EQ(FormatByteSize(uint64_t{3} << 40), "3TiB");
}

TEST(Duration, ReadsEveryUnit) {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0}, {"0s", 0}, {"250ms", 250}, {"30s", 30'000}, {"2m", 120'000}, {"1h", 3'600'000}, {"1d", 86'400'000}};
  for (const auto& [text, ms] : cases) EXPECT_EQ(ParseDuration(text)->count(), ms) << text;
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "s", "30", "-1s", "1.5s", "1 s", "1sec", "3651d", "99999999999999999d"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(Duration, FormatsTheShortestExactForm) {
  EXPECT_EQ(FormatDuration(Milliseconds(0)), "0s");
  EXPECT_EQ(FormatDuration(Milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(Milliseconds(90'000)), "90s");
  EXPECT_EQ(FormatDuration(Milliseconds(120'000)), "2m");
}

TEST(CpuList, IsReadAsTheKernelWritesIt) {
  EXPECT_EQ(ParseCpuList("0-3,8").value(), (std::vector<uint32_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5,1-2,2").value(), (std::vector<uint32_t>{1, 2, 5}));
  EXPECT_TRUE(ParseCpuList("").value().empty());
  for (const char* text : {"3-1", "a", "0-", "-1", "0--1", "1024", "0,,1", "0,", ",", " 1", "0-99999999999999999999"}) {
    EXPECT_FALSE(ParseCpuList(text).ok()) << text;
  }
}

}  // namespace
}  // namespace inferd::config
