#include "gateway/routing/poison_list.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "config/base/status.h"

namespace inferd::gateway {
namespace {

// Of those that have them.
constexpr std::array kNotEssential = {"request_id", "user",           "deadline_ms",
                                      "priority",   "resume_tokens",  "rendered_unix_seconds",
                                      "seed",       "prompt_logprobs"};

std::unique_ptr<google::protobuf::Message> EssenceOf(const google::protobuf::Message& request) {
  std::unique_ptr<google::protobuf::Message> essence(request.New());
  essence->CopyFrom(request);
  for (const char* name : kNotEssential) {
    const google::protobuf::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
    if (field != nullptr) request.GetReflection()->ClearField(essence.get(), field);
  }
  return essence;
}

std::string LikenessOf(const google::protobuf::Message& essence) {
  const google::protobuf::Reflection& reflection = *essence.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(essence, &fields);
  std::string likeness =
      fmt::format("{} {}", essence.GetDescriptor()->full_name(), std::bit_width(essence.ByteSizeLong()));
  for (const google::protobuf::FieldDescriptor* field : fields) {
    likeness += fmt::format(" {}", field->number());
    if (field->name() == "model") {
      likeness += fmt::format("={}", reflection.GetString(essence, field));
    } else if (field->is_repeated()) {
      likeness += fmt::format("*{}", std::bit_width(static_cast<uint32_t>(reflection.FieldSize(essence, field))));
    }
  }
  return likeness;
}

std::string DigestOf(const google::protobuf::Message& essence) {
  std::string bytes = essence.GetDescriptor()->full_name();
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // logit_bias is a map
    essence.SerializeToCodedStream(&coded);
  }
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

// What a request is known by; the likeness is that of one caller.
struct Marks {
  std::string digest, likeness;
};
Marks MarksOf(const google::protobuf::Message& request, const std::string& caller) {
  const std::unique_ptr<google::protobuf::Message> essence = EssenceOf(request);
  return {DigestOf(*essence), fmt::format("{}:{}{}", caller.size(), caller, LikenessOf(*essence))};
}

}  // namespace

std::string RequestDigest(const google::protobuf::Message& request) { return DigestOf(*EssenceOf(request)); }
std::string RequestLikeness(const google::protobuf::Message& request) { return LikenessOf(*EssenceOf(request)); }

absl::Status PoisonList::Add(const google::protobuf::Message& request, const std::string& caller) {
  const auto [digest, likeness] = MarksOf(request, caller);
  absl::MutexLock lock(&mutex_);
  Forget(digests_);
  const bool is_new = CountOf(digests_, digest) == 0;
  Count(digests_, digest, 1);
  if (is_new) {
    Count(likenesses_, likeness, request.ByteSizeLong() >= kLargeBytes ? 2 : 1);
    Count(callers_, caller, 1);
  }
  return Internal("two workers died under this request");
}

absl::Status PoisonList::Check(const google::protobuf::Message& request, const std::string& caller) {
  if (IsEmpty()) return absl::OkStatus();  // the usual case costs no digest
  const auto [digest, likeness] = MarksOf(request, caller);
  absl::MutexLock lock(&mutex_);
  if (CountOf(digests_, digest) > 0) {
    return FailedPrecondition("this request ended two workers; it is refused for {} minutes", kRefusedFor.count());
  }
  if (CountOf(likenesses_, likeness) > 1) {
    return FailedPrecondition("requests of this size and shape ended workers; they are refused to you for {} minutes",
                              kRefusedFor.count());
  }
  if (CountOf(callers_, caller) >= kMostOfCaller) {
    return FailedPrecondition("{} of your requests ended workers; all are refused for {} minutes", kMostOfCaller,
                              kRefusedFor.count());
  }
  return absl::OkStatus();
}

bool PoisonList::IsEmpty() {
  absl::MutexLock lock(&mutex_);
  for (Entries* entries : {&digests_, &likenesses_, &callers_}) Forget(*entries);
  return digests_.empty() && likenesses_.empty() && callers_.empty();
}

uint32_t PoisonList::CountOf(const Entries& entries, const std::string& name) const {
  const auto entry = entries.find(name);
  return entry == entries.end() ? 0 : entry->second.count;
}

void PoisonList::Count(Entries& entries, const std::string& name, uint32_t weight) {
  Forget(entries);
  Entry& entry = entries[name];
  entry.count += weight;
  entry.newest = clock_.Now();
}

void PoisonList::Forget(Entries& entries) {
  const MonotonicTime now = clock_.Now();
  std::erase_if(entries, [&](const auto& entry) { return now - entry.second.newest >= kRefusedFor; });
  while (entries.size() > kMaxEntries) {
    entries.erase(std::min_element(entries.begin(), entries.end(),
                                   [](const auto& a, const auto& b) { return a.second.newest < b.second.newest; }));
  }
}

}  // namespace inferd::gateway
