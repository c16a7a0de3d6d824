#include "engine/generation/choice.h"

#include <gtest/gtest.h>

#include "engine/generation/fake_model.h"

namespace inferd::engine {
namespace {

TEST(Choice, SharesTheStopTextsOfItsRequest) {
  const GenerationRequest request{.prompt = {4}, .choices = 2, .stop = {"END"}};
  const Vocabulary vocabulary = FakeModel::Vocabulary();
  const kernels::Kernels& kernels = *kernels::SelectKernels(nullptr);
  const std::shared_ptr<const output::StopTexts> stops = *output::StopTexts::Create(request.stop);
  const Choice first(request, 0, stops, {.most_tokens = 8, .window = 64}, vocabulary, kernels);
  const Choice second(request, 1, stops, {.most_tokens = 8, .window = 64}, vocabulary, kernels);
  EXPECT_EQ(stops.use_count(), 3) << "no choice has an automaton of its own";
}

}  // namespace
}  // namespace inferd::engine
