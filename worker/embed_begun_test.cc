// Which request a worker's death is blamed on depends on what the worker could still say: that it has begun a request
// must be on its way before the engine computes for it, also where the connection is busy with other calls' answers.
#include <dlfcn.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "config/base/address.h"
#include "config/base/clock.h"
#include "engine/engine.h"
#include "engine/tools/make_model.h"
#include "inferd/v1/inference.grpc.pb.h"
#include "proto/call_metadata.h"
#include "worker/server.h"

namespace inferd::worker {
namespace {

constexpr uint64_t kStepsPerWrite = 3;
constexpr Milliseconds kLongestWrite{1};           // where the engine waits for it
constexpr Milliseconds kLongestWaitUntilTold{50};  // of the engine (embed_call.cc)

// All writes of the process to sockets. While there is an engine, it gets some steps further during each.
class Connection {
 public:
  static Connection& Get() {
    static Connection* const connection = new Connection;
    return *connection;
  }
  void SlowDown(const engine::Engine& engine, std::string in_answers) {
    in_answers_ = std::move(in_answers);
    engine_ = &engine;
  }
  void SpeedUp() { engine_ = nullptr; }
  void BeforeWrite(const msghdr& message) {
    const engine::Engine* engine = engine_;
    if (engine == nullptr) return;
    std::string bytes;
    for (size_t i = 0; i < message.msg_iovlen; ++i) {
      bytes.append(static_cast<const char*>(message.msg_iov[i].iov_base), message.msg_iov[i].iov_len);
    }
    if (bytes.find(kWorkBegun) != std::string::npos) {
      ++told_;
      if (bytes.find(in_answers_) != std::string::npos) ++told_with_answer_;
    }
    const uint64_t steps = engine->Stats().steps + kStepsPerWrite;
    const MonotonicTime latest = Clock::System().Now() + kLongestWrite;
    while (engine->Stats().steps < steps && Clock::System().Now() < latest) std::this_thread::yield();
  }
  int told() const { return told_; }
  int told_with_answer() const { return told_with_answer_; }

 private:
  std::string in_answers_;  // set before the engine
  std::atomic<const engine::Engine*> engine_ = nullptr;
  std::atomic<int> told_ = 0, told_with_answer_ = 0;
};

TEST(EmbedBegun, IsToldBeforeTheFirstPassOnABusyConnection) {
  const std::string path = testing::TempDir() + "/embed_begun_test." + std::to_string(getpid()) + ".gguf";
  const auto shape =
      tools::ParseShape("width=64,layers=2,heads=2,kv_heads=1,head_dim=32,feed_forward=64,vocabulary=600");
  ASSERT_EQ(tools::MakeModel(*shape, kernels::TensorType::kF32, kernels::TensorType::kF32, path), absl::OkStatus());
  config::ModelOptions options{.name = "tiny", .path = path, .context = 4096, .threads = 1};
  options.kv_cache.bytes = 16 << 20;
  const Address address = *ParseAddress("unix:" + path + ".sock");
  const auto model = LoadModel(options, /*isa=*/"", /*version=*/3);
  ASSERT_EQ(model.status(), absl::OkStatus());
  const auto server = WorkerServer::Start(*Listen(address), "tiny", 3);
  ASSERT_EQ(server.status(), absl::OkStatus());
  (*server)->Serve(**model);
  const auto stub = v1::Inference::NewStub(grpc::CreateChannel(address.ToString(), grpc::InsecureChannelCredentials()));

  v1::GenerateRequest generate;
  generate.mutable_tokens()->add_ids(10);
  generate.mutable_limits()->set_max_tokens(4000);
  generate.mutable_sampling()->set_ignore_eos(true);
  grpc::ClientContext stream;
  const auto reader = stub->Generate(&stream, generate);
  v1::GenerateEvent event;
  ASSERT_TRUE(reader->Read(&event));
  std::thread reads([&] {
    for (v1::GenerateEvent next; reader->Read(&next);) {
    }
  });

  Connection& connection = Connection::Get();
  connection.SlowDown(*(*model)->engine, (*model)->fingerprint());
  v1::EmbedRequest embed;
  embed.add_inputs()->mutable_tokens()->add_ids(10);
  int told = 0, told_too_late = 0;
  for (int i = 0; i < 30; ++i) {
    const MonotonicTime sent = Clock::System().Now();
    v1::EmbedResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub->Embed(&context, embed, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    const bool engine_may_have_gone_on = Clock::System().Now() - sent >= kLongestWaitUntilTold;
    told_too_late += connection.told_with_answer() > told && !engine_may_have_gone_on ? 1 : 0;
    told = connection.told_with_answer();
  }
  EXPECT_GE(connection.told(), 30);
  EXPECT_EQ(told_too_late, 0);

  connection.SpeedUp();
  stream.TryCancel();
  reads.join();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);  // it kept the engine busy all the time
  (*server)->Shutdown();
  (*model)->engine->Stop();
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferd::worker

// Of the C library, in whose place gRPC finds this.
extern "C" __attribute__((visibility("default"))) ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto next = reinterpret_cast<ssize_t (*)(int, const msghdr*, int)>(dlsym(RTLD_NEXT, "sendmsg"));
  inferd::worker::Connection::Get().BeforeWrite(*message);
  return next(fd, message, flags);
}
