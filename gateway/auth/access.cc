#include "gateway/auth/access.h"

#include <sys/stat.h>

#include <algorithm>

#include "config/base/log.h"
#include "config/base/status.h"
#include "config/base/status_details.h"
#include "gateway/http/exchange.h"
#include "gateway/limits/address_group.h"

namespace inferd::gateway {
namespace {

std::string IdentityOf(const std::string& file) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return "";
  return fmt::format("{}:{}:{}:{}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// As the header Authorization has it; clients of Anthropic's API send the key alone.
std::string AuthorizationOf(const Request& request) {
  const std::string_view authorization = request.Header("authorization");
  const std::string_view key = request.Header("x-api-key");
  return authorization.empty() && !key.empty() ? fmt::format("Bearer {}", key) : std::string(authorization);
}

absl::Status RateLimited(std::string_view reason, Milliseconds wait) {
  absl::Status status = ResourceExhausted("{}", reason);
  SetRetryAfter(status, std::chrono::duration<double>(wait).count());
  SetErrorCode(status, "rate_limit_exceeded");
  return status;
}

}  // namespace

Access::Access(const config::AuthOptions& options, uint32_t requests_per_minute, const Clock& clock)
    : keys_file_(options.keys_file),
      ready_for_all_(options.ready_for_all),
      requests_per_minute_(requests_per_minute),
      limiter_(clock),
      wrong_keys_(options.wrong_keys_per_minute, clock) {}

absl::StatusOr<std::unique_ptr<Access>> Access::Create(const config::AuthOptions& options, uint32_t requests_per_minute,
                                                       const Clock& clock) {
  std::unique_ptr<Access> access(new Access(options, requests_per_minute, clock));
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

absl::StatusOr<std::shared_ptr<const config::ApiKey>> Access::FindKey(std::string_view authorization,
                                                                      const std::string& group) {
  std::shared_ptr<const config::ApiKeys> keys;
  {
    absl::MutexLock lock(&mutex_);
    keys = keys_;
  }
  if (keys == nullptr) return nullptr;
  if (authorization.empty())
    return Unauthenticated("an API key is needed (Authorization: Bearer ..., or x-api-key: ...)");
  if (const auto wait = wrong_keys_.MustWait(group, authorization)) {
    return RateLimited("too many wrong API keys came from this address", *wait);
  }
  std::shared_ptr<const config::ApiKey> key = keys->Find(authorization);
  if (key == nullptr) {
    wrong_keys_.NoteWrong(group);
    return Unauthenticated("the API key is wrong");
  }
  wrong_keys_.NoteRight(group, authorization);
  return key;
}

absl::StatusOr<std::shared_ptr<const config::ApiKey>> Access::Check(std::string_view authorization,
                                                                    const std::string& peer) {
  const std::string group = AddressGroup(peer);
  ASSIGN_OR_RETURN(std::shared_ptr<const config::ApiKey> key, FindKey(authorization, group));
  uint32_t per_minute = key != nullptr ? key->requests_per_minute.value_or(requests_per_minute_) : requests_per_minute_;
  if (per_minute > 0) {
    if (auto wait = limiter_.Take(NameOf(key.get(), group), per_minute)) {
      return RateLimited(fmt::format("more than {} requests per minute", per_minute), *wait);
    }
  }
  return key;
}

void Access::Recognize(Exchange& exchange) {
  const auto key = FindKey(AuthorizationOf(exchange.request), AddressGroup(exchange.peer_host));
  if (key.ok()) exchange.key = *key;
  exchange.may_see_models = key.ok() || ready_for_all_;
}

std::string Access::NameOf(const config::ApiKey* key, const std::string& group) {
  return key != nullptr ? "key " + key->name : "peer " + group;
}

void Access::CountAnswers(const config::ApiKey* key, const std::string& peer, uint64_t answers) {
  constexpr uint64_t kMost = 1'000'000;
  if (answers <= 1) return;
  limiter_.Charge(NameOf(key, AddressGroup(peer)), static_cast<uint32_t>(std::min(answers - 1, kMost)));
}

absl::Status Access::Admit(Exchange& exchange) {
  ASSIGN_OR_RETURN(exchange.key, Check(AuthorizationOf(exchange.request), exchange.peer_host));
  if (exchange.key != nullptr) exchange.record.key_name = exchange.key->name;
  return absl::OkStatus();
}

}  // namespace inferd::gateway
