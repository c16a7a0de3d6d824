// The emulated processor has every instruction set, so that no test that loops over the variants passes by leaving one
// out.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/kernel_testing.h"

namespace inferd::kernels {
namespace {

TEST(RunnableVariants, AreAllUnderEmulation) {
  std::vector<std::string> names;
  for (const Kernels* kernels : RunnableVariants()) names.emplace_back(kernels->name);
  EXPECT_EQ(names, (std::vector<std::string>{"reference", "neon", "neon_i8mm"}));
}

}  // namespace
}  // namespace inferd::kernels
