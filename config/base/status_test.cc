#include "config/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "config/base/status_details.h"

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

TEST(Status, TheFieldAtFaultStandsBesideTheText) {
  const absl::Status status = InvalidField("top_p", "{} is not in (0, 1]", 3);
  EXPECT_EQ(FieldOf(status), "top_p");
  EXPECT_EQ(TextOf(status), "3 is not in (0, 1]");
  EXPECT_EQ(MessageOf(status), "top_p: 3 is not in (0, 1]");
  EXPECT_EQ(FieldOf(InvalidArgument("top_p: 3")), "");
  EXPECT_EQ(MessageOf(InvalidArgument("top_p: 3")), "top_p: 3");
}

TEST(Status, AFieldOfAFieldHasThePathOfBoth) {
  const absl::Status role = InvalidField("role", "is missing");
  EXPECT_EQ(FieldOf(AtField("messages[2]", role)), "messages[2].role");
  EXPECT_EQ(FieldOf(AtField("messages", AtField("[2]", role))), "messages[2].role");
  EXPECT_EQ(FieldOf(AtField("", role)), "role");
  EXPECT_EQ(FieldOf(AtField("role", NotFound("x"))), "role");
  EXPECT_EQ(FieldOf(WithField(role, "content")), "content");
  EXPECT_EQ(MessageOf(WithField(role, "")), "is missing");
  EXPECT_TRUE(AtField("role", absl::OkStatus()).ok());
}

TEST(Status, AContextTakesTheFieldIntoItsText) {
  absl::Status status = InvalidField("cpus", "9 is not there");
  SetRetryAfter(status, 7);
  const absl::Status located = Annotate(status, "a.yaml:3");
  EXPECT_EQ(MessageOf(located), "a.yaml:3: cpus: 9 is not there");
  EXPECT_EQ(FieldOf(located), "");
  EXPECT_EQ(RetryAfterSeconds(located), 7);
}

TEST(Status, ErrnoBecomesACodeAndAText) {
  EXPECT_EQ(FromErrno(ENOENT, "open /a"), absl::NotFoundError("open /a: No such file or directory"));
}

}  // namespace
}  // namespace inferd
