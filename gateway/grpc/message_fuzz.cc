// Any bytes as each of the messages that clients send: what is not refused takes no more memory when it is parsed than
// it was said to, which itself is bounded. The first byte chooses the message.
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "gateway/grpc/message_cost.h"
#include "inferd/v1/inference.pb.h"

namespace {

using namespace inferd::v1;

constexpr uint64_t kMostBytes = 1 << 20;

const google::protobuf::Message& Prototype(uint8_t choice) {
  switch (choice % 6) {
    case 0:
      return GenerateRequest::default_instance();
    case 1:
      return EmbedRequest::default_instance();
    case 2:
      return TokenizeRequest::default_instance();
    case 3:
      return DetokenizeRequest::default_instance();
    case 4:
      return ApplyTemplateRequest::default_instance();
    default:
      return ListModelsRequest::default_instance();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const google::protobuf::Message& prototype = Prototype(data[0]);
  ++data;
  --size;
  google::protobuf::io::ArrayInputStream stream(data, static_cast<int>(size), /*block_size=*/7);
  const auto cost = inferd::gateway::MessageCost(stream, size, *prototype.GetDescriptor(), kMostBytes);
  if (!cost.ok()) {
    if (!absl::IsInvalidArgument(cost.status())) std::abort();
    return 0;
  }
  const std::unique_ptr<google::protobuf::Message> message(prototype.New());
  // The parser refuses a little more (tags that are written too long), and keeps what it has read until then.
  if (!message->ParsePartialFromArray(data, static_cast<int>(size)) && *cost == 0) std::abort();
  if (*cost > kMostBytes || message->SpaceUsedLong() > *cost) std::abort();
  return 0;
}
