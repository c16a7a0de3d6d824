#include "engine/generation/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generation/ngram_drafter.h"

namespace inferd::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<int32_t> kSevens(20, 7);

size_t Guesses(Speculation& speculation, int64_t most = 100) {
  const Speculation::Candidate candidates[] = {{.id = 1, .tokens = kSevens, .known = {}, .most = most}};
  speculation.Propose(candidates);
  return speculation.Drafts(1).size();
}

TEST(Speculation, LearnsHowManyGuessesAreWorthMaking) {
  Speculation speculation({.max_tokens = 8}, 100, std::make_unique<NgramDrafter>());
  EXPECT_EQ(Guesses(speculation), 8u);
  speculation.Judge(1, 8, 8, true);
  EXPECT_EQ(Guesses(speculation), 8u);
  speculation.Judge(1, 8, 0, true);
  EXPECT_EQ(Guesses(speculation), 1u);
  speculation.Judge(1, 1, 1, true);
  EXPECT_EQ(Guesses(speculation), 2u);
  speculation.Judge(1, 2, 2, true);
  EXPECT_EQ(Guesses(speculation, 3), 3u) << "and never more than may come";
  speculation.Judge(1, 4, 4, true);
  EXPECT_EQ(Guesses(speculation), 8u);
  speculation.Judge(1, 8, 3, true);
  EXPECT_EQ(Guesses(speculation), 4u);
  speculation.Forget(1);
  EXPECT_EQ(Guesses(speculation), 8u);
  EXPECT_EQ(speculation.proposed(), 8u + 8 + 1 + 2 + 4 + 8);
  EXPECT_EQ(speculation.accepted(), 8u + 0 + 1 + 2 + 4 + 3);
}

// A draft model that reads and never comes to an end.
class ReadingDrafter : public Drafter {
 public:
  explicit ReadingDrafter(uint64_t& passes) : passes_(passes) {}
  std::vector<std::vector<int32_t>> Draft(std::span<const Wanted> wanted) override {
    ++passes_;
    return std::vector<std::vector<int32_t>>(wanted.size());
  }
  void Forget(scheduler::SequenceId) override {}
  uint64_t passes() const override { return passes_; }

 private:
  uint64_t& passes_;
};

TEST(Speculation, StopsWhereTheDrafterOnlyCosts) {
  uint64_t passes = 0;
  Speculation speculation({}, 100, std::make_unique<ReadingDrafter>(passes));
  for (int step = 0; step < 1000; ++step) {
    const uint64_t before = passes;
    EXPECT_EQ(Guesses(speculation), 0u);
    speculation.StepDone(/*sequences=*/1, /*seconds=*/passes > before ? 0.08 : 0.01);
  }
  EXPECT_LT(passes, 100u);
}

TEST(Speculation, StopsInALargeBatch) {
  Speculation speculation({.max_batch = 2}, 100, std::make_unique<NgramDrafter>());
  std::vector<Speculation::Candidate> candidates(2, {.id = 1, .tokens = kSevens, .most = 5});
  candidates[1].id = 2;
  speculation.Propose(candidates);
  EXPECT_EQ(speculation.Drafts(2).size(), 5u);
  candidates.push_back({.id = 3, .tokens = kSevens, .most = 5});
  speculation.Propose(candidates);
  for (scheduler::SequenceId id : {1, 2, 3}) EXPECT_THAT(speculation.Drafts(id), IsEmpty());
}

TEST(Speculation, ProposesWhatIsKnownWithoutADrafterAndDoesNotCountIt) {
  Speculation speculation({.max_tokens = 3, .max_batch = 0}, 100, nullptr);
  const std::vector<int32_t> known = {4, 5, 6, 7};
  const Speculation::Candidate candidates[] = {{.id = 1, .tokens = kSevens, .known = known, .most = 9},
                                               {.id = 2, .tokens = kSevens, .known = known, .most = 0}};
  speculation.Propose(candidates);
  EXPECT_THAT(speculation.Drafts(1), ElementsAre(4, 5, 6));
  EXPECT_THAT(speculation.WithDrafts(1, 9, 2), ElementsAre(9, 4, 5));
  EXPECT_THAT(speculation.Drafts(2), IsEmpty());
  speculation.Judge(1, 2, 2, true);
  EXPECT_EQ(speculation.proposed(), 0u);
}

TEST(Speculation, DropsGuessesThatTheModelHasNot) {
  Speculation speculation({}, 7, std::make_unique<NgramDrafter>());
  EXPECT_EQ(Guesses(speculation), 0u);
}

}  // namespace
}  // namespace inferd::engine
