#include "gateway/routing/poison_list.h"

#include <gtest/gtest.h>

#include "config/base/clock.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

v1::GenerateRequest Small(const std::string& text, const std::string& model = "m") {
  v1::GenerateRequest request;
  request.set_model(model);
  request.set_text(text);
  return request;
}

// Texts of one length are different requests of one likeness.
v1::GenerateRequest Large(char letter, size_t bytes = 100'000) { return Small(std::string(bytes, letter)); }

class PoisonListTest : public testing::Test {
 protected:
  bool Allows(const v1::GenerateRequest& request, const std::string& caller = "a") {
    return poison_.Check(request, caller).ok();
  }

  FakeClock clock_;
  PoisonList poison_{clock_};
};

TEST_F(PoisonListTest, RefusesTheRequestToAnybody) {
  EXPECT_TRUE(Allows(Small("x")));
  EXPECT_TRUE(absl::IsInternal(poison_.Add(Small("x"), "a")));
  EXPECT_FALSE(Allows(Small("x")));
  EXPECT_FALSE(Allows(Small("x"), "b"));
  EXPECT_TRUE(Allows(Small("y")));
  clock_.Advance(PoisonList::kRefusedFor);
  EXPECT_TRUE(Allows(Small("x")));
}

TEST_F(PoisonListTest, RefusesLargeOnesLikeItToTheSameCaller) {
  poison_.Add(Large('x'), "a").IgnoreError();
  EXPECT_FALSE(Allows(Large('y')));
  EXPECT_FALSE(Allows(Large('y', 120'000)));  // of the same size class
  EXPECT_TRUE(Allows(Large('y'), "b"));
  EXPECT_TRUE(Allows(Large('y', 40'000)));
  EXPECT_TRUE(Allows(Small("y")));
  v1::GenerateRequest other_shape = Large('y');
  other_shape.mutable_limits()->set_max_tokens(7);
  EXPECT_TRUE(Allows(other_shape));
  v1::GenerateRequest other_model = Large('y');
  other_model.set_model("n");
  EXPECT_TRUE(Allows(other_model));
}

TEST_F(PoisonListTest, RefusesSmallOnesLikeTwo) {
  poison_.Add(Small("x"), "a").IgnoreError();
  poison_.Add(Small("x"), "a").IgnoreError();  // the same once more is no other
  EXPECT_TRUE(Allows(Small("z")));
  poison_.Add(Small("y"), "a").IgnoreError();
  EXPECT_FALSE(Allows(Small("z")));
  EXPECT_TRUE(Allows(Small("z"), "b"));
  EXPECT_TRUE(Allows(Small("a text of another size class")));
}

// A model with the default restart budget stays below it, whatever one caller sends.
TEST_F(PoisonListTest, RefusesACallerWhoGoesOn) {
  for (uint32_t i = 0; i < PoisonList::kMostOfCaller; ++i) {
    EXPECT_TRUE(Allows(Small("innocent")));
    const v1::GenerateRequest request = Large('x', 100'000 << i);
    EXPECT_TRUE(Allows(request)) << i;
    poison_.Add(request, "a").IgnoreError();
  }
  EXPECT_FALSE(Allows(Small("innocent")));
  EXPECT_TRUE(Allows(Small("innocent"), "b"));
  clock_.Advance(PoisonList::kRefusedFor);
  EXPECT_TRUE(Allows(Small("innocent")));
}

TEST_F(PoisonListTest, LikenessCountsElementsByClass) {
  v1::EmbedRequest few, more, many;
  for (int i = 0; i < 4; ++i) few.add_inputs()->set_text("x");
  for (int i = 0; i < 7; ++i) more.add_inputs()->set_text("");
  for (int i = 0; i < 8; ++i) many.add_inputs()->set_text("");
  EXPECT_EQ(RequestLikeness(few), RequestLikeness(more));
  EXPECT_NE(RequestLikeness(more), RequestLikeness(many));
  v1::GenerateRequest a = Small("x"), b = Small("y");
  b.set_request_id("r");
  a.set_seed(1);
  EXPECT_EQ(RequestLikeness(Small("x")), RequestLikeness(a));
  EXPECT_EQ(RequestLikeness(a), RequestLikeness(b));
  for (int i = 0; i < 1000; ++i) a.add_resume_tokens();
  EXPECT_EQ(RequestLikeness(a), RequestLikeness(b)) << "what was answered already says nothing of the request";
}

}  // namespace
}  // namespace inferd::gateway
