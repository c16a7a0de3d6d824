#include "engine/gguf/split_name.h"

#include <gtest/gtest.h>

namespace inferd::gguf {
namespace {

TEST(SplitName, ParsesAndFormats) {
  const auto name = ParseSplitName("dir/big-00002-of-00005.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "dir/big");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 5u);
  EXPECT_EQ(FormatSplitName(*name), "dir/big-00002-of-00005.gguf");
}

TEST(SplitName, RefusesOtherNames) {
  for (const char* path : {"big.gguf", "big-00000-of-00005.gguf", "big-00006-of-00005.gguf", "big-2-of-5.gguf",
                           "big-00001-of-00002.bin", "big00001-of-00002.gguf", "big-0000x-of-00002.gguf", "", "-of-"}) {
    EXPECT_FALSE(ParseSplitName(path).has_value()) << path;
  }
}

}  // namespace
}  // namespace inferd::gguf
