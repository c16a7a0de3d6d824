#include "gateway/routing/poison_list.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <openssl/sha.h>

#include <algorithm>

#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

std::string RequestDigest(const v1::GenerateRequest& request) {
  v1::GenerateRequest essential = request;
  essential.clear_request_id();
  essential.clear_user();
  essential.clear_deadline_ms();
  essential.clear_priority();
  essential.clear_resume_tokens();
  essential.clear_rendered_unix_seconds();
  essential.clear_seed();
  essential.clear_prompt_logprobs();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // logit_bias is a map
    essential.SerializeToCodedStream(&coded);
  }
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

void PoisonList::Add(const v1::GenerateRequest& request) {
  std::string digest = RequestDigest(request);
  absl::MutexLock lock(&mutex_);
  added_[digest] = clock_.Now();
  Forget();
}

bool PoisonList::Contains(const v1::GenerateRequest& request) {
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
