#include "gateway/serving/serving.h"

#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"
#include "config/api_keys.h"
#include "config/base/clock.h"
#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/json/valid_text.h"
#include "gateway/limits/address_group.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/errors.h"
#include "gateway/serving/request_id.h"

namespace inferd::gateway {
namespace {

constexpr std::string_view kDefaultAlias = "default";

}  // namespace

absl::StatusOr<std::string> ResolveModel(const Serving& serving, ServedRequest& request, const std::string& named) {
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const ModelRoute* route = table->Find(named.empty() ? kDefaultAlias : std::string_view(named));
  if (route == nullptr && named.empty()) {
    if (table->models().size() != 1) return InvalidField("model", "is missing");
    route = &table->models().front();
  }
  if (route == nullptr && !serving.upstream.routes.known()) return Unavailable("the models are not known yet");
  if (route == nullptr) return NotFound("the model '{}' does not exist", ValidText(named, 128));
  if (!MaySee(request, route->model)) {
    return PermissionDenied("the API key may not use the model '{}'", route->model);
  }
  request.record.model = route->model;
  return route->model;
}

uint64_t StickyOf(const config::ApiKey* key, const std::string& user) {
  if (!user.empty()) return StickyHash(user);
  if (key != nullptr) return StickyHash(key->name);
  return RandomBits();
}

std::string CallerOf(const config::ApiKey* key, std::string_view host) {
  return key == nullptr ? "address " + AddressGroup(host) : "key " + key->name;
}

std::string CacheSaltOf(const config::ApiKey* key, std::string_view salt) {
  if (key == nullptr) return std::string(salt);
  // The length keeps "a" with "b" apart from "ab" with "".
  std::string text = fmt::format("{}:{}{}", key->name.size(), key->name, salt);
  std::array<char, SHA256_DIGEST_LENGTH> hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return absl::BytesToHexString(absl::string_view(hash.data(), hash.size()));
}

absl::Status CheckServing(const Serving& serving) {
  if (!serving.upstream.shutting_down) return absl::OkStatus();
  absl::Status status = Unavailable("the server is shutting down");
  SetRetryAfter(status, kNotReadyRetrySeconds);
  return status;
}

std::string MakeAnswerId(std::string_view prefix) { return std::string(prefix) + RandomHex(24); }

int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::System().WallNow().time_since_epoch()).count();
}

ApiError NoteError(const absl::Status& status, ServedRequest& request) {
  ApiError error = ToApiError(status);
  request.record.error_code = error.code.empty() ? "invalid_request" : error.code;
  if (error.http_status == 500) {
    request.record.reason = MessageOf(status);
    error.message += fmt::format(" (request {})", request.request_id);
  }
  return error;
}

ModelCall MakeModelCall(const ServedRequest& request, std::string model, const google::protobuf::Message& message,
                        TimePoint deadline) {
  ModelCall call;
  call.sticky = StickyOf(request.key.get(), "");
  call.model = std::move(model);
  call.request = &message;
  call.deadline = deadline;
  call.request_id = request.request_id;
  call.caller = CallerOf(request.key.get(), request.peer_host);
  return call;
}

}  // namespace inferd::gateway
