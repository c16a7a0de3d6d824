// What the endpoints of all APIs share, and the first steps that they have in common.
//
//   ASSIGN_OR_RETURN(std::string model, ResolveModel(serving, request, fields.model));
#pragma once

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "gateway/calls/worker_call.h"
#include "gateway/serving/errors.h"
#include "gateway/serving/served_request.h"

namespace inferd::gateway {

class Access;
class ByteBudget;
class GatewayMetrics;
class WorkThreads;

struct Serving {
  Upstream& upstream;
  GatewayMetrics& metrics;
  // Of the bodies of all requests; null: no bound.
  ByteBudget* bodies = nullptr;
  // Counts what clients ask for; null: nobody does.
  Access* access = nullptr;
  // Where large bodies are parsed; null: where they are read.
  WorkThreads* parsers = nullptr;
  // A stream without events gets a comment line so often.
  std::chrono::milliseconds keep_alive{15'000};
};

// The name (not alias) of the model that a request names; the only model there is, or the one of alias "default", where
// it names none. Noted in the request's record.
//   NOT_FOUND; PERMISSION_DENIED the key may not use it; INVALID_ARGUMENT none named and several there
absl::StatusOr<std::string> ResolveModel(const Serving& serving, ServedRequest& request, const std::string& named);

// Decides among the versions of a model: the same for all requests of one user, else of one key, else at random.
uint64_t StickyOf(const config::ApiKey* key, const std::string& user);

// Who a request is from, where it is to be told from others': the key, else the address (limits/address_group.h).
std::string CallerOf(const config::ApiKey* key, std::string_view host);

// The salt of a request's cached prefixes: the client's own, and with a key one that no client of another key can have.
std::string CacheSaltOf(const config::ApiKey* key, std::string_view salt);

// Whether new requests are taken. UNAVAILABLE with the time to retry after: the daemon ends.
absl::Status CheckServing(const Serving& serving);

// "chatcmpl-" and 24 hex digits.
std::string MakeAnswerId(std::string_view prefix);

// Now, in seconds since 1970-01-01 UTC.
int64_t UnixNow();

// The error as clients see it, noted for log and metrics; its internal reason is for the log alone.
ApiError NoteError(const absl::Status& status, ServedRequest& request);

// The options of a call on behalf of this request. `message` outlives it.
ModelCall MakeModelCall(const ServedRequest& request, std::string model, const google::protobuf::Message& message,
                        TimePoint deadline = TimePoint::max());

}  // namespace inferd::gateway
