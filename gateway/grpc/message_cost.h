// What a serialized message takes in memory once it is parsed, found by walking its bytes and building nothing: two
// bytes of an empty message in a list become more than a hundred. A client's message is measured before it is parsed.
//
//   grpc::ProtoBufferReader reader(&buffer);
//   ASSIGN_OR_RETURN(uint64_t cost, MessageCost(reader, buffer.Length(), *v1::GenerateRequest::descriptor(), most));
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace inferd::gateway {

// Bytes of memory, no less than what parsing allocates. `size_bytes`: all that `stream` holds.
//   INVALID_ARGUMENT: no message of this type, a text that is not UTF-8 (names the field), more than `most_bytes` of
//   memory (names the field that passed it; the walk ends there)
absl::StatusOr<uint64_t> MessageCost(google::protobuf::io::ZeroCopyInputStream& stream, uint64_t size_bytes,
                                     const google::protobuf::Descriptor& type, uint64_t most_bytes);

}  // namespace inferd::gateway
