#include "engine/generation/model_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generation/fake_model.h"

namespace inferd::engine {
namespace {

using testing::IsEmpty;

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

class CountingRunner : public StepRunner {
 public:
  explicit CountingRunner(StepRunner& runner) : runner_(runner) {}
  absl::StatusOr<forward::ForwardResult> Run(std::span<const forward::SequenceStep> steps) override {
    for (const forward::SequenceStep& step : steps) tokens += static_cast<int64_t>(step.tokens.size());
    return runner_.Run(steps);
  }

  int64_t tokens = 0;  // that were computed

 private:
  StepRunner& runner_;
};

class ModelDrafterTest : public testing::Test {
 protected:
  explicit ModelDrafterTest() : model_({.blocks = 6, .max_sequences = 4, .prefix_reuse = false}) {}

  std::vector<int32_t> Draft(ModelDrafter& drafter, const std::vector<int32_t>& tokens, int64_t most,
                             scheduler::SequenceId id = 1) {
    const Drafter::Wanted wanted[] = {{.id = id, .tokens = tokens, .most = most}};
    return drafter.Draft(wanted).at(0);
  }
  // What the model itself finds likeliest after these tokens, one after the other.
  std::vector<int32_t> Likeliest(std::vector<int32_t> tokens, int count) {
    FakeModel model({.prefix_reuse = false});
    std::vector<int32_t> found;
    for (int i = 0; i < count; ++i) {
      const auto sequence = *model.cache().NewSequence({});
      EXPECT_TRUE(model.cache().Reserve(*sequence, static_cast<int64_t>(tokens.size())).ok());
      const forward::SequenceStep step[] = {
          {.sequence = sequence.get(), .tokens = tokens, .wanted = forward::Rows::kLast}};
      forward::ForwardResult result = *model.Run(step);
      found.push_back(kKernels.argmax(result.Row(0)->data(), result.row_elements()));
      tokens.push_back(found.back());
    }
    return found;
  }
  ModelDrafter::Options Options() const {
    return {.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 300, .pass_tokens = 100};
  }

  static ModelDrafter::Options LongContext(int64_t pass_tokens = 5000) {
    return {.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 5000, .pass_tokens = pass_tokens};
  }
  static std::vector<int32_t> Text(size_t tokens) { return std::vector<int32_t>(tokens, 9); }

  FakeModel model_;  // whose pool holds 384 tokens
  CountingRunner runner_{model_};
};

TEST_F(ModelDrafterTest, GuessesWhatTheDraftModelFindsLikeliest) {
  ModelDrafter drafter(model_, model_.cache(), kKernels, Options());
  std::vector<int32_t> tokens(63, 9);  // the guesses go across a page
  EXPECT_EQ(Draft(drafter, tokens, 4), Likeliest(tokens, 4));
  tokens.insert(tokens.end(), {5, 6});  // other tokens than it guessed
  EXPECT_EQ(Draft(drafter, tokens, 3), Likeliest(tokens, 3));
  EXPECT_EQ(model_.cache().Stats().sequences, 1) << "what guesses were computed on is given up";
  drafter.Forget(1);
  EXPECT_EQ(model_.cache().Stats().blocks_used, 0);
}

TEST_F(ModelDrafterTest, ALongPromptHasNoGuessesUntilItIsComputed) {
  ModelDrafter drafter(model_, model_.cache(), kKernels, Options());
  const std::vector<int32_t> tokens(250, 9);
  EXPECT_THAT(Draft(drafter, tokens, 2), IsEmpty());
  EXPECT_THAT(Draft(drafter, tokens, 2), IsEmpty());
  EXPECT_EQ(Draft(drafter, tokens, 2), Likeliest(tokens, 2));
}

TEST_F(ModelDrafterTest, HasNoGuessesWhereTheDraftModelHasNoRoom) {
  ModelDrafter drafter(model_, model_.cache(), kKernels, Options());
  EXPECT_THAT(Draft(drafter, std::vector<int32_t>(299, 9), 2), IsEmpty()) << "beyond its context";
  EXPECT_THAT(Draft(drafter, {FakeModel::kVocabulary}, 2), IsEmpty()) << "a token that it does not know";
  const auto other = *model_.cache().NewSequence({});
  ASSERT_TRUE(model_.cache().Reserve(*other, 6 * 64).ok());
  EXPECT_THAT(Draft(drafter, {4, 5}, 2, /*id=*/7), IsEmpty()) << "the pool is full";
}

TEST_F(ModelDrafterTest, GivesUpATextThatTheWholePoolCannotHold) {
  ModelDrafter drafter(runner_, model_.cache(), kKernels, LongContext());
  for (size_t tokens : {385, 386, 387}) EXPECT_THAT(Draft(drafter, Text(tokens), 2), IsEmpty());
  EXPECT_EQ(runner_.tokens, 0);
  drafter.Forget(1);
  EXPECT_EQ(Draft(drafter, Text(380), 2), Likeliest(Text(380), 1)) << "there is no page for a copy to guess on";
  const int64_t computed = runner_.tokens;
  for (size_t tokens : {385, 386, 387}) EXPECT_THAT(Draft(drafter, Text(tokens), 2), IsEmpty()) << "it has grown";
  EXPECT_EQ(runner_.tokens, computed);
  EXPECT_EQ(model_.cache().Stats().blocks_used, 0) << "others get its room";
}

TEST_F(ModelDrafterTest, ATextThatDoesNotFitBesideOthersCostsNothingUntilItDoes) {
  ModelDrafter drafter(runner_, model_.cache(), kKernels, LongContext(/*pass_tokens=*/150));
  for (size_t size = 200; size < 200 + 3 * ModelDrafter::kIdleCalls; ++size) {
    const std::vector<int32_t> first = Text(size), second(size, 8);
    const Drafter::Wanted wanted[] = {{.id = 1, .tokens = first, .most = 1}, {.id = 2, .tokens = second, .most = 1}};
    const std::vector<std::vector<int32_t>> drafts = drafter.Draft(wanted);
    EXPECT_EQ(drafts[0].size(), size == 200 ? 0u : 1u);
    EXPECT_THAT(drafts[1], IsEmpty());
    EXPECT_EQ(std::exchange(runner_.tokens, 0), size == 200 ? 150 : size == 201 ? 51 : 1);
  }
  drafter.Forget(1);
  EXPECT_THAT(Draft(drafter, Text(250), 2, /*id=*/2), IsEmpty());
  EXPECT_EQ(Draft(drafter, Text(251), 2, /*id=*/2), Likeliest(Text(251), 2));
}

TEST_F(ModelDrafterTest, OfTwoThatGrowBeyondThePoolOneGoesOn) {
  ModelDrafter drafter(runner_, model_.cache(), kKernels, LongContext());
  std::vector<int32_t> first = Text(190), second(190, 8);  // three pages each, of six
  int64_t computed = 0;
  for (int i = 0; i < 60; ++i) {
    const Drafter::Wanted wanted[] = {{.id = 1, .tokens = first, .most = 1}, {.id = 2, .tokens = second, .most = 1}};
    const auto drafts = drafter.Draft(wanted);
    EXPECT_EQ(drafts[0].empty() + drafts[1].empty(), first.size() > 192 ? 1 : 0) << first.size();
    computed = std::exchange(runner_.tokens, 0);
    EXPECT_LE(computed, i == 0 ? 380 : 2) << "nothing is computed again";
    first.push_back(9);
    second.push_back(8);
  }
}

TEST_F(ModelDrafterTest, TextsNotAskedForLatelyMakeRoomTheOldestFirst) {
  ModelDrafter drafter(runner_, model_.cache(), kKernels, LongContext());
  for (scheduler::SequenceId id : {3, 1, 2}) EXPECT_EQ(Draft(drafter, Text(100), 1, id).size(), 1u);
  for (int64_t i = 3; i < ModelDrafter::kIdleCalls + 1; ++i) {
    EXPECT_THAT(Draft(drafter, Text(100), 1, /*id=*/4), IsEmpty()) << "the others may be asked for again";
  }
  for (int64_t i = 0; i < 3; ++i) drafter.Draft({});  // now all are idle
  EXPECT_THAT(Draft(drafter, Text(400), 1, /*id=*/5), IsEmpty());
  EXPECT_EQ(model_.cache().Stats().sequences, 3) << "what the whole pool cannot hold needs no room";
  EXPECT_EQ(Draft(drafter, Text(100), 1, /*id=*/4).size(), 1u);
  runner_.tokens = 0;
  for (scheduler::SequenceId id : {1, 2}) EXPECT_EQ(Draft(drafter, Text(101), 1, id).size(), 1u);
  EXPECT_EQ(runner_.tokens, 2) << "they are still there";
}

}  // namespace
}  // namespace inferd::engine
