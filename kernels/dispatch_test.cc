#include <gtest/gtest.h>

#include <cstring>

#include "kernels/kernels.h"

namespace inferd::kernels {
namespace {

TEST(SelectKernels, FindsEveryVariantByNameOrSaysThatTheCpuCannot) {
  for (const char* const* name = KernelVariants(); *name != nullptr; ++name) {
    const Kernels* kernels = SelectKernels(*name);
    if (kernels != nullptr) {
      EXPECT_STREQ(kernels->name, *name);
    }
  }
}

TEST(SelectKernels, ReferenceRunsEverywhereAndIsListedFirst) {
  EXPECT_STREQ(KernelVariants()[0], "reference");
  ASSERT_NE(SelectKernels("reference"), nullptr);
}

TEST(SelectKernels, DefaultIsTheLastThatRuns) {
  const Kernels* last = nullptr;
  for (const char* const* name = KernelVariants(); *name != nullptr; ++name) {
    if (const Kernels* kernels = SelectKernels(*name)) last = kernels;
  }
  EXPECT_EQ(SelectKernels(nullptr), last);
}

TEST(SelectKernels, UnknownNameIsNull) {
  EXPECT_EQ(SelectKernels("mmx"), nullptr);
  EXPECT_EQ(SelectKernels(""), nullptr);
}

}  // namespace
}  // namespace inferd::kernels
