#include "worker/prepared_request.h"

#include <gtest/gtest.h>

#include <limits>

#include "inferd/v1/inference.pb.h"
#include "worker/fake_tokenizer.h"

namespace inferd::worker {
namespace {

// Two states; the second has three tokens of a byte each.
v1::GenerateRequest Resumed(uint64_t delivered) {
  v1::GenerateRequest wire;
  wire.add_resume_tokens()->set_choice(0);
  v1::ResumeState* second = wire.add_resume_tokens();
  second->set_choice(1);
  for (int32_t id : {'a', 'b', 'c'}) second->add_ids(id);
  second->set_delivered_bytes(delivered);
  return wire;
}

TEST(CheckDelivered, TakesWhatTokensCanMake) {
  const FakeTokenizer tokenizer;
  for (uint64_t delivered : {0, 3, 18}) EXPECT_TRUE(CheckDelivered(Resumed(delivered), tokenizer).ok()) << delivered;
}

TEST(CheckDelivered, RefusesMoreBytesThanTheTokensCanMake) {
  const FakeTokenizer tokenizer;
  for (uint64_t delivered : {uint64_t{19}, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    const absl::Status status = CheckDelivered(Resumed(delivered), tokenizer);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("choice 1 has " + std::to_string(delivered)), absl::string_view::npos) << status;
  }
}

TEST(CheckDelivered, LeavesUnknownTokensToTheEnginesCheck) {
  v1::GenerateRequest wire = Resumed(3);
  wire.mutable_resume_tokens(1)->add_ids(-1);
  wire.mutable_resume_tokens(1)->add_ids(1 << 30);
  EXPECT_TRUE(CheckDelivered(wire, FakeTokenizer()).ok());
}

}  // namespace
}  // namespace inferd::worker
