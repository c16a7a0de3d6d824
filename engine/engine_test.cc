#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "config/base/status.h"
#include "config/base/status_details.h"
#include "engine/device/factory/device_factory.h"
#include "engine/generation/refusal.h"
#include "engine/generation/transcript.h"
#include "engine/model/testing_model.h"

namespace inferd::engine {
namespace {

// What a request's reader gets. The first event may hold the engine's thread up until `go`.
class Reader {
 public:
  explicit Reader(absl::Notification* go = nullptr)
      : queue(std::make_shared<EventQueue>(1 << 20, [this, go] {
          if (!began_.HasBeenNotified()) began_.Notify();
          if (go != nullptr) go->WaitForNotification();
          Look();
        })) {}

  void WaitForBegin() { began_.WaitForNotification(); }
  const Transcript& WaitForEnd() {
    ended_.WaitForNotification();
    return transcript_;
  }

  const std::shared_ptr<EventQueue> queue;

 private:
  // On the engine's thread, or on that which stops the engine.
  void Look() {
    transcript_.Read(*queue);
    if (transcript_.end && !ended_.HasBeenNotified()) ended_.Notify();
  }

  absl::Notification began_, ended_;
  Transcript transcript_;
};

class EngineTest : public testing::Test {
 protected:
  void Create(EngineOptions options, std::string bytes = model::TestingModel::Llama().Bytes()) {
    bytes_ = std::move(bytes);
    model_ = *model::LoadBytes(bytes_);
    device::DeviceOptions device{.context_tokens = 256, .cache = {.bytes = cache_bytes_}};
    SizeDevice(options, model_->spec(), device);
    Vocabulary vocabulary{.size = model_->vocabulary_size(), .end_of_generation = {}, .token_bytes = [](int32_t, bool) {
                            return std::string("x");
                          }};
    engine_ =
        *Engine::Create(*device::CreateDevice(model_, device, {.cpu = {.threads = 1}}), std::move(vocabulary), options);
  }
  absl::Status Submit(Reader& reader, uint32_t max_tokens = 4, RequestId* id = nullptr) {
    auto submitted = engine_->Submit({.prompt = {5, 6, 7}, .max_tokens = max_tokens}, reader.queue);
    if (submitted.ok() && id != nullptr) *id = *submitted;
    return submitted.status();
  }
  absl::Status Embed(std::function<void(absl::StatusOr<Vectors>)> done) {
    return engine_->Embed({.inputs = {{5, 6, 7}, {8}}, .done = std::move(done)});
  }

  std::string bytes_;
  uint64_t cache_bytes_ = 8 << 20;
  std::shared_ptr<const model::Model> model_;
  std::unique_ptr<Engine> engine_;
};

// The items of a pass are what the progress counts (thread_pool_test.cc), whatever the pass is for.
TEST_F(EngineTest, EveryPassIsProgress) {
  Create({});
  const uint64_t at_first = engine_->progress();
  absl::Notification embedded;
  ASSERT_EQ(Embed([&](const absl::StatusOr<Vectors>&) { embedded.Notify(); }), absl::OkStatus());
  embedded.WaitForNotification();
  const uint64_t after_embedding = engine_->progress();
  EXPECT_GT(after_embedding, at_first + static_cast<uint64_t>(model_->spec().layers.size()));
  EXPECT_EQ(engine_->Stats().steps, 0u);
  Reader reader;
  ASSERT_EQ(Submit(reader), absl::OkStatus());
  reader.WaitForEnd();
  EXPECT_GT(engine_->Stats().progress, after_embedding);
}

TEST_F(EngineTest, AnswersARequest) {
  Create({});
  Reader reader;
  ASSERT_EQ(Submit(reader), absl::OkStatus());
  EXPECT_EQ(reader.WaitForEnd().choices.at(0).tokens.size(), 4u);
  EXPECT_EQ(reader.WaitForEnd().end, absl::OkStatus());
  EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
  EXPECT_EQ(engine_->Stats().generation_tokens, 4u);
  EXPECT_EQ(engine_->Stats().requests_running, 0u);
}

TEST_F(EngineTest, AModelWithARecurrentStateComputesAPromptOnce) {
  for (const model::TestingModel& model :
       {model::TestingModel::Lfm2(), model::TestingModel::Mamba2(), model::TestingModel::Qwen35()}) {
    Create({}, model.Bytes());
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < 100; ++i) prompt.push_back(3 + i * 7 % 50);
    Reader several, one;
    ASSERT_TRUE(engine_->Submit({.prompt = prompt, .choices = 4, .max_tokens = 1}, several.queue).ok());
    EXPECT_EQ(several.WaitForEnd().cached_prompt_tokens, 0u);
    ASSERT_TRUE(engine_->Submit({.prompt = prompt, .max_tokens = 1}, one.queue).ok());
    EXPECT_EQ(one.WaitForEnd().cached_prompt_tokens, 64u);
    EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
    EXPECT_EQ(engine_->Stats().step_tokens.sum, (100 + 3) + 36) << "each other choice the last token alone";
  }
}

TEST_F(EngineTest, AnInvalidRequestIsRefusedAndCounted) {
  Create({});
  Reader reader;
  EXPECT_EQ(engine_->Submit({.prompt = {96}}, reader.queue).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Submit({.prompt = std::vector<int32_t>(256, 1)}, reader.queue).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(engine_->Stats().rejections.at("too_long"), 1u);
}

// One request holds the engine's thread up in its first step; whatever comes meanwhile is counted exactly.
TEST_F(EngineTest, TheQueueIsBoundedExactlyWhileAStepRuns) {
  Create({.max_sequences = 3, .queue = {.max_requests = 20, .max_wait_seconds = 0}});
  absl::Notification go;
  Reader first(&go);
  ASSERT_EQ(Submit(first), absl::OkStatus());
  first.WaitForBegin();
  std::atomic<int> taken = 0, refused = 0;
  std::vector<std::unique_ptr<Reader>> readers(200);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = thread; i < readers.size(); i += 4) {
        readers[i] = std::make_unique<Reader>();
        const absl::Status status = Submit(*readers[i]);
        ++(status.ok() ? taken : refused);
        EXPECT_EQ(status.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 2 + 20);
  EXPECT_EQ(engine_->Stats().requests_waiting, 20u);
  EXPECT_EQ(engine_->Stats().requests_running, 3u);
  go.Notify();
  EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
  EXPECT_EQ(engine_->Stats().rejections.at("queue_full"), static_cast<uint64_t>(refused));
}

TEST_F(EngineTest, TheQueueStaysWithinItsBoundWhileRequestsComeAndGo) {
  Create({.max_sequences = 2, .queue = {.max_requests = 4, .max_wait_seconds = 0}});
  std::atomic<bool> done = false;
  uint32_t most_waiting = 0;
  std::thread watcher([&] {
    while (!done) most_waiting = std::max(most_waiting, engine_->Stats().requests_waiting);
  });
  std::vector<std::unique_ptr<Reader>> readers;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    readers.push_back(std::make_unique<Reader>());
    if (Submit(*readers.back(), 2).ok()) continue;
    readers.pop_back();
    ++refused;
  }
  engine_->Drain(Clock::System().Now() + std::chrono::minutes(1));
  done = true;
  watcher.join();
  for (const auto& reader : readers) EXPECT_EQ(reader->WaitForEnd().end, absl::OkStatus());
  EXPECT_LE(most_waiting, 4u);
  EXPECT_GT(refused, 0) << "the load was too light to test anything";
}

TEST_F(EngineTest, TextsToEmbedAreBoundedByTheSameQueue) {
  Create({.queue = {.max_requests = 3, .max_wait_seconds = 0}});
  absl::Notification go;
  Reader first(&go);
  ASSERT_EQ(Submit(first), absl::OkStatus());
  first.WaitForBegin();
  std::atomic<int> answered = 0;
  int taken = 0;
  for (int i = 0; i < 10; ++i) {
    const absl::Status status =
        Embed([&](const absl::StatusOr<Vectors>& vectors) { answered += vectors.ok() ? 1 : 0; });
    taken += status.ok() ? 1 : 0;
    EXPECT_EQ(RetryAfterSeconds(status).has_value(), !status.ok());
  }
  EXPECT_EQ(taken, 1 + 3);
  go.Notify();
  EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
  EXPECT_EQ(answered, 4);
}

TEST_F(EngineTest, EmbedsTexts) {
  Create({});
  absl::Notification ended;
  Vectors vectors;
  ASSERT_EQ(Embed([&](absl::StatusOr<Vectors> result) {
              vectors = *std::move(result);
              ended.Notify();
            }),
            absl::OkStatus());
  ended.WaitForNotification();
  ASSERT_EQ(vectors.size(), 2u);
  EXPECT_EQ(vectors[0].size(), static_cast<size_t>(model::TestingModel::kWidth));
  EXPECT_NE(vectors[0], vectors[1]);
}

TEST_F(EngineTest, TextsToEmbedGiveTheirPagesToStreams) {
  Create({});
  const auto page_bytes = static_cast<uint64_t>(engine_->device().cache().BlocksFor(64)) *
                          static_cast<uint64_t>(engine_->Stats().cache.block_bytes);
  cache_bytes_ = 9 * page_bytes;  // two streams need eight at their end, a text needs four
  engine_.reset();
  Create({.prefill_tokens = 32});
  std::atomic<int> answered = 0;
  std::vector<Reader> streams(2);
  for (Reader& stream : streams) ASSERT_EQ(Submit(stream, 250), absl::OkStatus());
  for (int i = 0; i < 20; ++i) {
    const EmbeddingRequest texts{
        .inputs = {10, std::vector<int32_t>(250, 5)},
        .done = [&](const absl::StatusOr<Vectors>& vectors) { answered += vectors.ok() ? 1 : 0; }};
    ASSERT_EQ(engine_->Embed(texts), absl::OkStatus());
  }
  for (Reader& stream : streams) EXPECT_EQ(stream.WaitForEnd().end, absl::OkStatus());
  EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(engine_->Stats().preemptions, 0u);
}

TEST_F(EngineTest, ACancelledRequestEndsWhetherItWaitsOrRuns) {
  Create({.max_sequences = 1});
  Reader running, waiting;
  RequestId running_id = 0, waiting_id = 0;
  ASSERT_EQ(Submit(running, 250, &running_id), absl::OkStatus());
  ASSERT_EQ(Submit(waiting, 250, &waiting_id), absl::OkStatus());
  running.WaitForBegin();
  engine_->Cancel(waiting_id);
  engine_->Cancel(running_id);
  EXPECT_EQ(waiting.WaitForEnd().end->code(), absl::StatusCode::kCancelled);
  running.WaitForEnd();  // it may have been complete
  engine_->Cancel(running_id);
  EXPECT_EQ(engine_->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);
}

TEST_F(EngineTest, ADrainingEngineRefusesEverythingNewAndFinishesTheRest) {
  Create({});
  absl::Notification go;
  Reader first(&go), second;
  ASSERT_EQ(Submit(first), absl::OkStatus());
  first.WaitForBegin();
  EXPECT_EQ(engine_->Drain(Clock::System().Now()), 1u) << "the deadline has passed";
  EXPECT_TRUE(engine_->draining());
  EXPECT_EQ(Submit(second).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Embed([](const auto&) {}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(engine_->Stats().rejections.at("draining"), 2u);
  go.Notify();
  EXPECT_EQ(first.WaitForEnd().end, absl::OkStatus());
}

TEST_F(EngineTest, StopEndsWhatIsLeft) {
  Create({.max_sequences = 1});
  Reader running, waiting;
  ASSERT_EQ(Submit(running, 250), absl::OkStatus());
  ASSERT_EQ(Submit(waiting, 250), absl::OkStatus());
  running.WaitForBegin();
  engine_->Stop();
  EXPECT_TRUE(waiting.WaitForEnd().end->code() == absl::StatusCode::kUnavailable);
  running.WaitForEnd();
}

}  // namespace
}  // namespace inferd::engine
