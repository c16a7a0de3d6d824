// Messages of the public port as bytes: a client's are measured and checked before they are parsed, ours are serialized
// by us, since the service takes and gives bytes alone.
//
//   v1::EmbedRequest request;
//   RETURN_IF_ERROR(ParseMessage(bytes, share, request));
//   reactor->StartWrite(&(buffer = SerializeMessage(event)));
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "gateway/limits/byte_budget.h"

namespace inferd::gateway {

// Memory that a message may take for each of its bytes, and what every message may take.
inline constexpr uint64_t kMemoryPerByte = 8;
inline constexpr uint64_t kMemoryOfAny = 16 << 20;

// What the parsed message takes counts in `share` beside its bytes. INVALID_ARGUMENT as MessageCost; UNAVAILABLE: too
// many bodies are held.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, ByteShare& share, google::protobuf::Message& message);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace inferd::gateway
