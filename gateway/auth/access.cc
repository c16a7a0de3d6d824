#include "gateway/auth/access.h"

#include <sys/stat.h>

#include <algorithm>

#include "config/base/log.h"
#include "config/base/status.h"
#include "gateway/http/exchange.h"
#include "gateway/openai/errors.h"

namespace inferd::gateway {
namespace {

std::string IdentityOf(const std::string& file) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return "";
  return fmt::format("{}:{}:{}:{}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

Access::Access(std::string keys_file, uint32_t requests_per_minute, const Clock& clock)
    : keys_file_(std::move(keys_file)), requests_per_minute_(requests_per_minute), limiter_(clock) {}

absl::StatusOr<std::unique_ptr<Access>> Access::Create(std::string keys_file, uint32_t requests_per_minute,
                                                       const Clock& clock) {
  std::unique_ptr<Access> access(new Access(std::move(keys_file), requests_per_minute, clock));
  if (access->keys_file_.empty()) return access;
  absl::MutexLock lock(&access->mutex_);
  access->file_identity_ = IdentityOf(access->keys_file_);
  ASSIGN_OR_RETURN(config::ApiKeys keys, config::LoadApiKeys(access->keys_file_));
  access->keys_ = std::make_shared<const config::ApiKeys>(std::move(keys));
  return access;
}

void Access::Refresh() {
  if (keys_file_.empty()) return;
  std::string identity = IdentityOf(keys_file_);
  {
    absl::MutexLock lock(&mutex_);
    if (identity == file_identity_) return;
    file_identity_ = identity;
  }
  absl::StatusOr<config::ApiKeys> keys = config::LoadApiKeys(keys_file_);
  if (!keys.ok()) {
    LogError("the changed keys file is wrong, the former keys stay", {{"error", MessageOf(keys.status())}});
    return;
  }
  LogInfo("read the keys file again", {{"keys", keys->size()}});
  absl::MutexLock lock(&mutex_);
  keys_ = std::make_shared<const config::ApiKeys>(*std::move(keys));
}

absl::StatusOr<std::shared_ptr<const config::ApiKey>> Access::Check(std::string_view authorization,
                                                                    const std::string& peer) {
  std::shared_ptr<const config::ApiKeys> keys;
  {
    absl::MutexLock lock(&mutex_);
    keys = keys_;
  }
  std::shared_ptr<const config::ApiKey> key;
  if (keys != nullptr) {
    key = keys->Find(authorization);
    if (key == nullptr) {
      return Unauthenticated(
          "{}", authorization.empty() ? "an API key is needed (Authorization: Bearer ...)" : "the API key is wrong");
    }
  }
  uint32_t per_minute = key != nullptr ? key->requests_per_minute.value_or(requests_per_minute_) : requests_per_minute_;
  if (per_minute > 0) {
    if (auto wait = limiter_.Take(key != nullptr ? "key " + key->name : "peer " + peer, per_minute)) {
      absl::Status status = ResourceExhausted("more than {} requests per minute", per_minute);
      SetRetryAfter(status, std::max(1, static_cast<int>((wait->count() + 999) / 1000)));
      SetErrorCode(status, "rate_limit_exceeded");
      return status;
    }
  }
  return key;
}

absl::Status Access::Admit(Exchange& exchange) {
  ASSIGN_OR_RETURN(exchange.key, Check(exchange.request.Header("authorization"), exchange.PeerHost()));
  if (exchange.key != nullptr) exchange.record.key_name = exchange.key->name;
  return absl::OkStatus();
}

}  // namespace inferd::gateway
