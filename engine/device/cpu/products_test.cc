#include "engine/device/cpu/products.h"

#include <gtest/gtest.h>

namespace inferd::device {
namespace {

// Threads keep an item's outputs in memory of their own.
TEST(Products, ItemsAreNoLargerThanTheirMemory) {
  for (const int32_t threads : {1, 2, 3, 16, 1024}) {
    for (const int64_t most : {1, 31, 32, 33, 512}) {
      for (int64_t tokens = 1; tokens <= most; ++tokens) {
        for (const int64_t rows : {1, 32, 576, 960, 8192, 128256}) {
          const int64_t step = Products::RowsPerItem(rows, tokens, threads);
          EXPECT_LE(step * tokens, Products::MostOfItem(most)) << threads << " " << most << " " << tokens;
          EXPECT_EQ(step % kernels::kRowGroup, 0);
        }
      }
    }
  }
}

TEST(Products, ItemsOfManyTokensLetThreadsEndTogether) {
  EXPECT_EQ(Products::RowsPerItem(2048, 512, 2), 64);
  EXPECT_EQ(Products::RowsPerItem(576, 512, 2), 32);  // 18 items; of 64 rows there would be 9
  EXPECT_EQ(Products::RowsPerItem(576, 512, 1), 64);
}

}  // namespace
}  // namespace inferd::device
