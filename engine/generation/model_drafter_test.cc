#include "engine/generation/model_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generation/fake_model.h"

namespace inferd::engine {
namespace {

using testing::IsEmpty;

const kernels::Kernels& kKernels = *kernels::SelectKernels(nullptr);

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
      const model::SequenceStep step[] = {{.sequence = sequence.get(), .tokens = tokens, .wanted = model::Rows::kLast}};
      model::ForwardResult result = *model.Run(step);
      found.push_back(kKernels.argmax(result.Row(0).data(), result.row_elements()));
      tokens.push_back(found.back());
    }
    return found;
  }
  ModelDrafter::Options Options() const {
    return {.vocabulary_size = FakeModel::kVocabulary, .context_tokens = 300, .pass_tokens = 100};
  }

  FakeModel model_;
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

}  // namespace
}  // namespace inferd::engine
