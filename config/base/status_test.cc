#include "config/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace inferd {
namespace {

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("value: {} is not even", value);
  return value / 2;
}

absl::Status Quarter(int value, int* out) {
  ASSIGN_OR_RETURN(int half, Half(value));
  ASSIGN_OR_RETURN(*out, Half(half));
  return absl::OkStatus();
}

TEST(Status, MacrosPassTheFirstErrorOn) {
  int out = 0;
  EXPECT_TRUE(Quarter(8, &out).ok());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(Quarter(6, &out), absl::InvalidArgumentError("value: 3 is not even"));
}

TEST(Status, AnnotateKeepsTheCode) {
  EXPECT_EQ(Annotate(NotFound("no such key"), "model.gguf"), absl::NotFoundError("model.gguf: no such key"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "x").ok());
}

TEST(Status, ErrnoBecomesACodeAndAText) {
  EXPECT_EQ(FromErrno(ENOENT, "open /a"), absl::NotFoundError("open /a: No such file or directory"));
}

}  // namespace
}  // namespace inferd
