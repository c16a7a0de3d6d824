#include "config/base/local_time.h"

#include <gtest/gtest.h>

#include <limits>

#include "config/base/status.h"

namespace inferd {
namespace {

TEST(LocalTime, HasTheFieldsOfTheCalendar) {
  const auto time = LocalTime(1'000'000'000);
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_EQ(time->tm_year, 101);
  EXPECT_EQ(time->tm_mon, 8);
  std::tm fields = *time;
  EXPECT_EQ(std::mktime(&fields), 1'000'000'000);
  EXPECT_EQ(LocalTime(WallTime(std::chrono::seconds(1'000'000'000)))->tm_sec, time->tm_sec);
}

TEST(LocalTime, RefusesTimesBeyondTheCalendar) {
  EXPECT_EQ(MessageOf(LocalTime(std::numeric_limits<int64_t>::max()).status()),
            "9223372036854775807 seconds since 1970 are no time of the calendar");
}

}  // namespace
}  // namespace inferd
