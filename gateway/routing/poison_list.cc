#include "gateway/routing/poison_list.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <memory>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

// Of those that have them.
constexpr std::array kNotEssential = {"request_id", "user",           "deadline_ms",
                                      "priority",   "resume_tokens",  "rendered_unix_seconds",
                                      "seed",       "prompt_logprobs"};

}  // namespace

std::string RequestDigest(const google::protobuf::Message& request) {
  const std::unique_ptr<google::protobuf::Message> essential(request.New());
  essential->CopyFrom(request);
  for (const char* name : kNotEssential) {
    const google::protobuf::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
    if (field != nullptr) request.GetReflection()->ClearField(essential.get(), field);
  }
  std::string bytes = request.GetDescriptor()->full_name();
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // logit_bias is a map
    essential->SerializeToCodedStream(&coded);
  }
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

absl::Status PoisonList::Add(const google::protobuf::Message& request) {
  std::string digest = RequestDigest(request);
  absl::MutexLock lock(&mutex_);
  added_[digest] = clock_.Now();
  Forget();
  return Internal("two workers died under this request");
}

absl::Status PoisonList::Check(const google::protobuf::Message& request) {
  if (!Contains(request)) return absl::OkStatus();
  return FailedPrecondition("this request ended two workers; it is refused for {} minutes", kRefusedFor.count());
}

bool PoisonList::Contains(const google::protobuf::Message& request) {
  {
    absl::MutexLock lock(&mutex_);
    Forget();
    if (added_.empty()) return false;  // the usual case costs no digest
  }
  std::string digest = RequestDigest(request);
  absl::MutexLock lock(&mutex_);
  return added_.contains(digest);
}

void PoisonList::Forget() {
  MonotonicTime now = clock_.Now();
  std::erase_if(added_, [&](const auto& entry) { return now - entry.second >= kRefusedFor; });
  while (added_.size() > kMaxEntries) {
    added_.erase(std::min_element(added_.begin(), added_.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
}

}  // namespace inferd::gateway
