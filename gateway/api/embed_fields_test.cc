#include "gateway/api/embed_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/status.h"
#include "gateway/json/json_text.h"

namespace inferd::gateway {
namespace {

absl::StatusOr<EmbedFields> Read(std::string_view body) {
  Fields fields(*ParseJsonObject(body));
  EmbedFields request;
  if (const absl::Status status = ReadEmbedFields(fields, request); !status.ok()) return status;
  return request;
}

TEST(ReadEmbedFields, ReadsThemAll) {
  const absl::StatusOr<EmbedFields> read =
      Read(R"({"normalize":false,"truncate":true,"deadline_ms":1500,"priority":"batch","user":"u","x":1})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->embed.has_normalize() && !read->embed.normalize());
  EXPECT_TRUE(read->embed.truncate());
  EXPECT_EQ(read->deadline, std::chrono::milliseconds(1500));
  EXPECT_EQ(read->embed.priority(), v1::PRIORITY_BATCH);
  EXPECT_THAT(read->warnings, testing::ElementsAre("unknown field 'x' was ignored"));
}

// The worker's bounds (worker/generation_request_test.cc): what one way in takes, the other does, too.
TEST(ReadEmbedFields, TakesADeadlineOfAYear) {
  EXPECT_EQ(Read(R"({"deadline_ms":31536000000})")->deadline, std::chrono::hours(24 * 365));
  EXPECT_EQ(MessageOf(Read(R"({"deadline_ms":31536000001})").status()),
            "deadline_ms: 31536000001 is not an integer in 1..31536000000");
}

TEST(ReadEmbedFields, LeavesWhatIsAbsentUnset) {
  const absl::StatusOr<EmbedFields> read = Read(R"({"priority":null})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->embed.has_normalize() || read->embed.truncate() || read->deadline);
  EXPECT_EQ(read->embed.priority(), v1::PRIORITY_UNSPECIFIED);
}

TEST(ReadEmbedFields, NamesTheFieldThatIsWrong) {
  for (const auto& [body, name] :
       {std::pair(R"({"normalize":1})", "normalize"), std::pair(R"({"truncate":"x"})", "truncate"),
        std::pair(R"({"deadline_ms":0})", "deadline_ms"), std::pair(R"({"priority":"urgent"})", "priority"),
        std::pair(R"({"priority":1})", "priority")}) {
    const absl::Status status = Read(body).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_THAT(FieldOf(status), testing::StartsWith(name)) << body;
  }
}

}  // namespace
}  // namespace inferd::gateway
