// Reads what gRPC received without copying it.
#include "gateway/grpc/raw_message.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>

#include "config/base/status.h"
#include "gateway/grpc/message_cost.h"

namespace inferd::gateway {

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, ByteShare& share, google::protobuf::Message& message) {
  const uint64_t size = bytes.Length();
  grpc::ByteBuffer buffer(bytes);  // shares the bytes; a reader asks for one that it may change
  grpc::ProtoBufferReader walked(&buffer);
  ASSIGN_OR_RETURN(const uint64_t cost,
                   MessageCost(walked, size, *message.GetDescriptor(), std::max(kMemoryOfAny, kMemoryPerByte * size)));
  if (!share.GrowTo(size + cost)) return Unavailable("too many requests are being held, try again later");
  grpc::ProtoBufferReader parsed(&buffer);
  if (!message.ParseFromZeroCopyStream(&parsed)) {
    return InvalidArgument("the message is not a valid {}", std::string(message.GetDescriptor()->full_name()));
  }
  return absl::OkStatus();
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  const grpc::Status status =
      grpc::SerializationTraits<google::protobuf::Message>::Serialize(message, &buffer, &own_buffer);
  CHECK(status.ok());
  return buffer;
}

}  // namespace inferd::gateway
