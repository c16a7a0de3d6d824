// Who may call: the API key of a request and its rate. The keys file is read again when it changes; a wrong one is
// reported and the keys in use stay.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Access> access, Access::Create(config.auth, per_minute, clock));
//   RETURN_IF_ERROR(access->Admit(exchange));
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/api_keys.h"
#include "config/config.h"
#include "gateway/auth/wrong_keys.h"
#include "gateway/limits/rate_limiter.h"

namespace inferd::gateway {

class Exchange;

class Access {
 public:
  // Without a file nobody needs a key. `requests_per_minute` is for keys that name no rate, and for each address where
  // no key is asked for; 0: any number.
  static absl::StatusOr<std::unique_ptr<Access>> Create(const config::AuthOptions& options,
                                                        uint32_t requests_per_minute, const Clock& clock);

  // Puts the key of the headers Authorization or x-api-key into the exchange. UNAUTHENTICATED; RESOURCE_EXHAUSTED with
  // the time to retry after.
  absl::Status Admit(Exchange& exchange);
  // The same for callers without HTTP; the key, null where none is asked for.
  absl::StatusOr<std::shared_ptr<const config::ApiKey>> Check(std::string_view authorization, const std::string& peer);

  // Of a request that needs no key: puts one that is right into the exchange, and whether it may be told of models.
  void Recognize(Exchange& exchange);
  // A request of this key or address that was let through counts as so many: one for each answer that it asks for.
  void CountAnswers(const config::ApiKey* key, const std::string& peer, uint64_t answers);

  // Reads the keys file again if it changed.
  void Refresh();

 private:
  Access(const config::AuthOptions& options, uint32_t requests_per_minute, const Clock& clock);

  // Null where no key is asked for. UNAUTHENTICATED; RESOURCE_EXHAUSTED after too many wrong ones.
  absl::StatusOr<std::shared_ptr<const config::ApiKey>> FindKey(std::string_view authorization,
                                                                const std::string& group);
  // Whose rate it is.
  static std::string NameOf(const config::ApiKey* key, const std::string& group);

  const std::string keys_file_;
  const bool ready_for_all_;
  const uint32_t requests_per_minute_;
  RateLimiter limiter_;
  WrongKeys wrong_keys_;
  absl::Mutex mutex_;
  std::shared_ptr<const config::ApiKeys> keys_ ABSL_GUARDED_BY(mutex_);
  // Size, time and inode of the file that was read.
  std::string file_identity_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::gateway
