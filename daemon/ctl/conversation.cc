#include "daemon/ctl/conversation.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <iterator>
#include <thread>

#include "config/base/signals.h"
#include "config/base/status.h"
#include "config/base/unique_fd.h"
#include "inferd/v1/inference.grpc.pb.h"

namespace inferd::daemon {
namespace {

// Cancels a call at an interrupt, while it lives.
class InterruptWatch {
 public:
  InterruptWatch(int interrupts, grpc::ClientContext& context)
      : stop_(eventfd(0, EFD_CLOEXEC)), thread_([this, interrupts, &context] { Watch(interrupts, context); }) {}
  ~InterruptWatch() {
    const uint64_t one = 1;
    CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }
  bool interrupted() const { return interrupted_; }

 private:
  void Watch(int interrupts, grpc::ClientContext& context) {
    for (;;) {
      pollfd entries[] = {{stop_.get(), POLLIN, 0}, {interrupts, POLLIN, 0}};
      if (poll(entries, std::size(entries), -1) < 0) continue;
      if (entries[0].revents != 0) return;
      if (!ReadSignal(interrupts)) continue;
      interrupted_ = true;
      context.TryCancel();
    }
  }

  const UniqueFd stop_;
  std::atomic<bool> interrupted_ = false;
  std::thread thread_;  // last: it uses the others
};

void AddMessage(v1::ChatPrompt& chat, const char* role, const std::string& content) {
  v1::Message& message = *chat.add_messages();
  message.set_role(role);
  message.set_content(content);
}

void ApplyOptions(const ChatOptions& options, v1::GenerateRequest& request) {
  request.set_model(options.model);
  if (options.temperature) request.mutable_sampling()->set_temperature(static_cast<float>(*options.temperature));
  if (options.seed) request.set_seed(*options.seed);
  if (options.max_tokens) request.mutable_limits()->set_max_tokens(*options.max_tokens);
}

void NoteFinished(const v1::Finished& finished, AnswerFacts& facts) {
  facts.completion_tokens = finished.usage().completion_tokens();
  facts.first_token_seconds = finished.timings().first_token_seconds();
  facts.decode_seconds = finished.timings().decode_seconds();
  facts.cut_at_limit = finished.reason() == v1::Finished::REASON_LENGTH;
}

}  // namespace

Conversation::Conversation(std::shared_ptr<grpc::Channel> channel, ChatOptions options)
    : channel_(std::move(channel)), options_(std::move(options)) {}

absl::Status Conversation::Ask(const std::string& message, const std::function<void(std::string_view)>& on_text,
                               int interrupts) {
  v1::GenerateRequest request;
  ApplyOptions(options_, request);
  v1::ChatPrompt& chat = *request.mutable_chat();
  if (!options_.system.empty()) AddMessage(chat, "system", options_.system);
  for (const Turn& turn : turns_) {
    AddMessage(chat, "user", turn.question);
    AddMessage(chat, "assistant", turn.answer);
  }
  AddMessage(chat, "user", message);

  grpc::ClientContext context;
  if (!options_.key.empty()) context.AddMetadata("authorization", "Bearer " + options_.key);
  facts_ = {};
  Turn turn{.question = message};
  std::string error;
  const auto stub = v1::Inference::NewStub(channel_);
  const InterruptWatch watch(interrupts, context);
  const auto stream = stub->Generate(&context, request);
  for (v1::GenerateEvent event; stream->Read(&event);) {
    if (event.has_delta()) {
      turn.answer += event.delta().text();
      on_text(event.delta().text());
    } else if (event.has_finished()) {
      NoteFinished(event.finished(), facts_);
      error = event.finished().error();
    }
  }
  const grpc::Status status = stream->Finish();
  facts_.interrupted = watch.interrupted();
  if (!facts_.interrupted) {
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
    }
    if (!error.empty()) return Internal("{}", error);
  }
  turns_.push_back(std::move(turn));
  return absl::OkStatus();
}

}  // namespace inferd::daemon
