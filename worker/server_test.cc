// The worker's calls over a real gRPC server, on a small model with random weights.
#include "worker/server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "config/base/address.h"
#include "config/base/status.h"
#include "engine/tools/make_model.h"
#include "inferd/v1/inference.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"
#include "proto/call_metadata.h"

namespace inferd::worker {
namespace {

class ServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_path_ = new std::string(testing::TempDir() + "/server_test." + std::to_string(getpid()) + ".gguf");
    const auto shape =
        tools::ParseShape("width=64,layers=2,heads=2,kv_heads=1,head_dim=32,feed_forward=64,vocabulary=600");
    ASSERT_EQ(tools::MakeModel(*shape, kernels::TensorType::kF32, kernels::TensorType::kF32, *model_path_),
              absl::OkStatus());
  }
  static void TearDownTestSuite() {
    std::filesystem::remove(*model_path_);
    delete model_path_;
  }

  void Start(uint32_t max_sequences = 4, uint32_t max_requests = 8) {
    config::ModelOptions options{.name = "tiny", .path = *model_path_, .context = 4096, .threads = 1};
    options.kv_cache.bytes = 16 << 20;
    options.batch.max_sequences = max_sequences;
    options.queue.max_requests = max_requests;
    options.queue.max_wait = Milliseconds(0);
    const Address address = *ParseAddress("unix:" + *model_path_ + ".sock");
    auto model = LoadModel(options, /*isa=*/"", /*version=*/3);
    ASSERT_EQ(model.status(), absl::OkStatus());
    model_ = *std::move(model);
    auto server = WorkerServer::Start(*Listen(address), "tiny", 3);
    ASSERT_EQ(server.status(), absl::OkStatus());
    server_ = *std::move(server);
    server_->Serve(*model_);
    const auto channel = grpc::CreateChannel(address.ToString(), grpc::InsecureChannelCredentials());
    inference_ = v1::Inference::NewStub(channel);
    worker_ = v1::Worker::NewStub(channel);
  }
  // The server ends before the model, and both before their file.
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
    if (model_ != nullptr) model_->engine->Stop();
    server_.reset();
  }

  static v1::GenerateRequest Tokens(uint32_t max_tokens) {
    v1::GenerateRequest request;
    for (int32_t id : {10, 20, 30}) request.mutable_tokens()->add_ids(id);
    request.mutable_limits()->set_max_tokens(max_tokens);
    request.mutable_sampling()->set_ignore_eos(true);
    request.set_seed(7);
    return request;
  }
  v1::StatsResponse Stats() {
    grpc::ClientContext context;
    v1::StatsResponse stats;
    EXPECT_TRUE(worker_->Stats(&context, {}, &stats).ok());
    return stats;
  }
  // The first event of a call that stays open.
  struct OpenCall {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::GenerateEvent>> reader;
    v1::GenerateEvent first;
  };
  std::unique_ptr<OpenCall> Open(const v1::GenerateRequest& request) {
    auto call = std::make_unique<OpenCall>();
    call->reader = inference_->Generate(&call->context, request);
    EXPECT_TRUE(call->reader->Read(&call->first));
    return call;
  }
  grpc::Status Whole(const v1::GenerateRequest& request, std::vector<v1::GenerateEvent>& events,
                     grpc::ClientContext& context) {
    const auto reader = inference_->Generate(&context, request);
    for (v1::GenerateEvent event; reader->Read(&event);) events.push_back(event);
    return reader->Finish();
  }

  static std::string* model_path_;
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<WorkerServer> server_;
  std::unique_ptr<v1::Inference::Stub> inference_;
  std::unique_ptr<v1::Worker::Stub> worker_;
};

std::string* ServerTest::model_path_ = nullptr;

TEST_F(ServerTest, AStreamIsAcceptedThenDeltasThenFinished) {
  Start();
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  ASSERT_TRUE(Whole(Tokens(5), events, context).ok());
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events.front().accepted().prompt_tokens(), 3u);
  EXPECT_EQ(events.front().accepted().seed(), 7u);
  EXPECT_EQ(events.front().accepted().model_version(), 3u);
  EXPECT_EQ(events.back().finished().reason(), v1::Finished::REASON_LENGTH);
  EXPECT_EQ(events.back().finished().usage().completion_tokens(), 5u);
  for (size_t i = 1; i + 1 < events.size(); ++i) EXPECT_TRUE(events[i].has_delta());
  EXPECT_EQ(model_->engine->Drain(Clock::System().Now() + std::chrono::minutes(1)), 0u);  // the step is complete
  const v1::StatsResponse stats = Stats();
  EXPECT_EQ(stats.generation_tokens(), 5u);
  EXPECT_EQ(stats.histograms_size(), 9);
}

TEST_F(ServerTest, AWrongFieldEndsTheCallWithItsNameBeforeAnyEvent) {
  Start();
  v1::GenerateRequest request = Tokens(5);
  request.mutable_tokens()->add_ids(600);
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  const grpc::Status status = Whole(request, events, context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("id 600"), std::string::npos) << status.error_message();
  EXPECT_TRUE(events.empty());
}

TEST_F(ServerTest, AFullQueueRefusesAndTellsWhenToTryAgain) {
  Start(/*max_sequences=*/1, /*max_requests=*/0);
  const auto running = Open(Tokens(4000));
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  const grpc::Status status = Whole(Tokens(1), events, context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_TRUE(events.empty());
  running->context.TryCancel();
  EXPECT_FALSE(running->reader->Finish().ok());
}

TEST_F(ServerTest, ACancelledCallFreesItsPlace) {
  Start(/*max_sequences=*/1);
  const auto running = Open(Tokens(4000));
  EXPECT_TRUE(running->first.has_accepted());
  running->context.TryCancel();
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  ASSERT_TRUE(Whole(Tokens(2), events, context).ok());
  EXPECT_EQ(running->reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerTest, APassedDeadlineEndsTheStream) {
  Start();
  v1::GenerateRequest request = Tokens(4000);
  request.set_deadline_ms(1);
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  const grpc::StatusCode code = Whole(request, events, context).error_code();
  // Refused at once where the prompt alone is expected to take longer.
  EXPECT_TRUE(code == grpc::StatusCode::DEADLINE_EXCEEDED || code == grpc::StatusCode::RESOURCE_EXHAUSTED) << code;
}

TEST_F(ServerTest, EmbedGivesAVectorOfLengthOneForEachInput) {
  Start();
  v1::EmbedRequest request;
  request.add_inputs()->mutable_tokens()->add_ids(10);
  request.add_inputs()->set_text("Hello, world");
  v1::EmbedResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(inference_->Embed(&context, request, &response).ok());
  ASSERT_EQ(response.embeddings_size(), 2);
  for (const v1::Embedding& embedding : response.embeddings()) {
    double sum = 0;
    for (float value : embedding.values()) sum += double{value} * value;
    EXPECT_EQ(embedding.values_size(), 64);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_GT(response.usage().prompt_tokens(), 1u);
}

TEST_F(ServerTest, CallsWithoutAStreamTellThatWorkHasBegun) {
  Start();
  const auto told = [](const grpc::ClientContext& context) {
    return context.GetServerInitialMetadata().contains(kWorkBegun);
  };
  v1::TokenizeRequest tokenize;
  v1::TokenizeResponse ids;
  grpc::ClientContext tokenizes;
  ASSERT_TRUE(inference_->Tokenize(&tokenizes, tokenize, &ids).ok());
  EXPECT_TRUE(told(tokenizes));
  v1::EmbedRequest embed;
  embed.add_inputs()->mutable_tokens()->add_ids(10);
  v1::EmbedResponse response;
  grpc::ClientContext alone;
  ASSERT_TRUE(inference_->Embed(&alone, embed, &response).ok());
  EXPECT_TRUE(told(alone));
  const auto other = Open(Tokens(4000));
  grpc::ClientContext beside;
  ASSERT_TRUE(inference_->Embed(&beside, embed, &response).ok());
  EXPECT_TRUE(told(beside));
  other->context.TryCancel();
  EXPECT_FALSE(other->reader->Finish().ok());
}

// The trailer that names the field at fault.
std::string FieldOf(const grpc::ClientContext& context) {
  const auto field = context.GetServerTrailingMetadata().find(kErrorField);
  return field == context.GetServerTrailingMetadata().end() ? ""
                                                            : std::string(field->second.data(), field->second.size());
}

TEST_F(ServerTest, EmbedTakesAPriority) {
  Start();
  v1::EmbedRequest request;
  request.add_inputs()->set_text("Hello");
  for (const int priority : {0, 1, 4, 77}) {
    request.set_priority(static_cast<v1::Priority>(priority));
    v1::EmbedResponse response;
    grpc::ClientContext context;
    const grpc::Status status = inference_->Embed(&context, request, &response);
    EXPECT_EQ(FieldOf(context), priority < 77 ? "" : "priority");
    EXPECT_EQ(status.error_message(), priority < 77 ? "" : "77 is not a value of Priority");
  }
}

TEST_F(ServerTest, EmbedNamesTheInputThatIsWrong) {
  Start();
  v1::EmbedRequest request;
  request.add_inputs()->set_text("Hello");
  request.add_inputs()->mutable_tokens()->add_ids(600);
  v1::EmbedResponse response;
  grpc::ClientContext context;
  const grpc::Status status = inference_->Embed(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(FieldOf(context), "inputs[1]") << status.error_message();
}

TEST_F(ServerTest, ADrainingWorkerFinishesWhatRunsAndRefusesTheRest) {
  Start();
  const auto running = Open(Tokens(300));
  v1::DrainWorkerRequest drain;
  drain.set_deadline_ms(60000);
  v1::DrainWorkerResponse drained;
  grpc::ClientContext drain_context;
  std::vector<v1::GenerateEvent> events;
  grpc::ClientContext context;
  std::thread reader([&] {
    for (v1::GenerateEvent event; running->reader->Read(&event);) {
    }
  });
  EXPECT_TRUE(worker_->Drain(&drain_context, drain, &drained).ok());
  reader.join();
  EXPECT_EQ(drained.unfinished(), 0u);
  EXPECT_TRUE(running->reader->Finish().ok());
  EXPECT_EQ(Whole(Tokens(1), events, context).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Stats().draining());
}

}  // namespace
}  // namespace inferd::worker
