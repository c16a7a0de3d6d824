#include "gateway/serving/parse_body.h"

namespace inferd::gateway {

absl::Status TakeParseMemory(const Serving& serving, std::string_view body, ByteShare& share) {
  const uint64_t bytes = MostJsonMemory(body);
  if (share.GrowTo(bytes)) return absl::OkStatus();
  if (bytes > serving.bodies->most()) {
    return InvalidArgument(
        "the body has so many values that parsing it takes up to {} bytes of memory, and all bodies together have {}",
        bytes, serving.bodies->most());
  }
  absl::Status status = Unavailable("too many request bodies are being held, try again later");
  SetErrorCode(status, "overloaded");
  return status;
}

}  // namespace inferd::gateway
