#include "engine/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>

#include "config/base/status.h"
#include "engine/model_variables.h"
#include "engine/tools/make_model.h"
#include "engine/tools/runnable.h"

namespace inferd::engine {
namespace {

using testing::HasSubstr;

class SelfTest : public testing::Test {
 protected:
  SelfTest() : path_(testing::TempDir() + "/self_test." + std::to_string(getpid()) + ".gguf") {
    const auto shape =
        tools::ParseShape("width=64,layers=2,heads=2,kv_heads=1,head_dim=32,feed_forward=64,vocabulary=600");
    EXPECT_EQ(tools::MakeModel(*shape, kernels::TensorType::kF32, kernels::TensorType::kF32, path_), absl::OkStatus());
    file_ = *gguf::GgufFile::Open(path_);
    tokenizer_ = *tokenizer::Tokenizer::Create(*file_);
  }
  ~SelfTest() override { std::filesystem::remove(path_); }

  const std::string path_;
  std::shared_ptr<const gguf::GgufFile> file_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

TEST_F(SelfTest, ASoundModelPasses) {
  const absl::StatusOr<tools::Runnable> runnable = tools::OpenRunnable(path_, {.tokens = 8, .result_rows = 8});
  ASSERT_EQ(runnable.status(), absl::OkStatus());
  const absl::StatusOr<scheduler::PassTimes> times = CheckForward(*runnable->device);
  ASSERT_EQ(times.status(), absl::OkStatus());
  EXPECT_EQ(times->tokens, 8);
  EXPECT_GT(times->pass_seconds, 0);
  EXPECT_GT(times->step_seconds, 0);
  EXPECT_EQ(runnable->device->cache().Stats().blocks_cached, 0);
  EXPECT_EQ(CheckTokenizer(*tokenizer_, 600), absl::OkStatus());
}

TEST_F(SelfTest, ATokenizerMayNotHaveMoreTokensThanTheModel) {
  EXPECT_EQ(MessageOf(CheckTokenizer(*tokenizer_, 599)),
            "tokenizer.ggml.tokens: 600 tokens, but the model has embeddings of 599");
}

}  // namespace
}  // namespace inferd::engine
