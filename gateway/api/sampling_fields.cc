#include "gateway/api/sampling_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr size_t kMaxBreakerBytes = 256;
constexpr size_t kMaxLogitBias = 65'536;

// vLLM's and Hugging Face's repetition_penalty is the same with the whole context to look at.
absl::Status ReadRepeatPenalty(Fields& fields, v1::Sampling& sampling) {
  constexpr Bounds kPenalty{.least = 0, .most = 10, .above = 0};
  ASSIGN_OR_RETURN(auto repeat, fields.Number("repeat_penalty", kPenalty));
  ASSIGN_OR_RETURN(auto repetition, fields.Number("repetition_penalty", kPenalty));
  if (repeat && repetition && *repeat != *repetition) {
    return InvalidField("repetition_penalty", "{} is not repeat_penalty, which is {}, and both mean the same",
                        *repetition, *repeat);
  }
  ASSIGN_OR_RETURN(auto last_n, fields.Integer("repeat_last_n", -1, kMaxInt32));
  if (!repeat && repetition && !last_n) last_n = -1;
  if (!repeat) repeat = repetition;
  if (repeat) sampling.set_repeat_penalty(static_cast<float>(*repeat));
  if (last_n) sampling.set_repeat_last_n(static_cast<int32_t>(*last_n));
  return absl::OkStatus();
}

absl::Status ReadSampling(Fields& fields, v1::Sampling& sampling) {
  ASSIGN_OR_RETURN(auto temperature, fields.Number("temperature", {.least = 0, .most = 2}));
  if (temperature) sampling.set_temperature(static_cast<float>(*temperature));
  ASSIGN_OR_RETURN(auto top_k, fields.Integer("top_k", -1, kMaxInt32));
  if (top_k) sampling.set_top_k(static_cast<int32_t>(std::max<int64_t>(0, *top_k)));
  ASSIGN_OR_RETURN(auto top_p, fields.Number("top_p", {.least = 0, .most = 1}));
  // The smallest nucleus is the best token; 0 is how clients ask for it.
  if (top_p) sampling.set_top_p(std::max(1e-9f, static_cast<float>(*top_p)));
  ASSIGN_OR_RETURN(auto min_p, fields.Number("min_p", {.least = 0, .most = 1}));
  if (min_p) sampling.set_min_p(static_cast<float>(*min_p));
  ASSIGN_OR_RETURN(auto typical_p, fields.Number("typical_p", {.least = 0, .most = 1, .above = 0}));
  if (typical_p) sampling.set_typical_p(static_cast<float>(*typical_p));
  ASSIGN_OR_RETURN(auto presence, fields.Number("presence_penalty", {.least = -2, .most = 2}));
  if (presence) sampling.set_presence_penalty(static_cast<float>(*presence));
  ASSIGN_OR_RETURN(auto frequency, fields.Number("frequency_penalty", {.least = -2, .most = 2}));
  if (frequency) sampling.set_frequency_penalty(static_cast<float>(*frequency));
  RETURN_IF_ERROR(ReadRepeatPenalty(fields, sampling));
  ASSIGN_OR_RETURN(auto ignore_eos, fields.Boolean("ignore_eos"));
  sampling.set_ignore_eos(ignore_eos.value_or(false));
  return absl::OkStatus();
}

// Of other servers, under the names that their clients use.
absl::Status ReadMoreSamplers(Fields& fields, v1::Sampling& sampling) {
  ASSIGN_OR_RETURN(auto xtc_probability, fields.Number("xtc_probability", {.least = 0, .most = 1}));
  if (xtc_probability) sampling.set_xtc_probability(static_cast<float>(*xtc_probability));
  ASSIGN_OR_RETURN(auto xtc_threshold, fields.Number("xtc_threshold", {.least = 0, .most = 1}));
  if (xtc_threshold) sampling.set_xtc_threshold(static_cast<float>(*xtc_threshold));
  ASSIGN_OR_RETURN(auto dry_multiplier, fields.Number("dry_multiplier", {.least = 0, .most = 100}));
  if (dry_multiplier) sampling.set_dry_multiplier(static_cast<float>(*dry_multiplier));
  ASSIGN_OR_RETURN(auto dry_base, fields.Number("dry_base", {.least = 1, .most = 100}));
  if (dry_base) sampling.set_dry_base(static_cast<float>(*dry_base));
  ASSIGN_OR_RETURN(auto dry_length, fields.Integer("dry_allowed_length", 0, kMaxInt32));
  if (dry_length) sampling.set_dry_allowed_length(static_cast<int32_t>(*dry_length));
  ASSIGN_OR_RETURN(auto dry_last_n, fields.Integer("dry_penalty_last_n", -1, kMaxInt32));
  if (dry_last_n) sampling.set_dry_penalty_last_n(static_cast<int32_t>(*dry_last_n));
  ASSIGN_OR_RETURN(auto breakers, fields.Strings("dry_sequence_breakers", 64, kMaxBreakerBytes));
  sampling.mutable_dry_sequence_breakers()->Add(breakers.begin(), breakers.end());
  ASSIGN_OR_RETURN(auto mirostat, fields.Integer("mirostat", 0, 2));
  if (mirostat) sampling.set_mirostat(static_cast<int32_t>(*mirostat));
  ASSIGN_OR_RETURN(auto tau, fields.Number("mirostat_tau", {.least = 0, .most = 100}));
  if (tau) sampling.set_mirostat_tau(static_cast<float>(*tau));
  ASSIGN_OR_RETURN(auto eta, fields.Number("mirostat_eta", {.least = 0, .most = 1}));
  if (eta) sampling.set_mirostat_eta(static_cast<float>(*eta));
  ASSIGN_OR_RETURN(auto bad_words, fields.Strings("bad_words", 256, 256));
  sampling.mutable_bad_words()->Add(bad_words.begin(), bad_words.end());
  return ReadTokenIds(fields, "allowed_token_ids", *sampling.mutable_allowed_token_ids());
}

absl::Status ReadLogitBias(Fields& fields, v1::Sampling& sampling) {
  ASSIGN_OR_RETURN(auto bias, fields.Object("logit_bias"));
  if (!bias) return absl::OkStatus();
  if (bias->size() > kMaxLogitBias) return InvalidField("logit_bias", "more than {} tokens", kMaxLogitBias);
  for (const auto& [key, value] : *bias) {
    int32_t id = -1;
    auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    // One spelling for each token: "7" and "07" would be two values of it.
    if (parsed.ec != std::errc() || key != std::to_string(id) || id < 0) {
      return InvalidField("logit_bias", "the key '{}' is not a token id", ValidText({key.data(), key.size()}, 32));
    }
    double number = value.is_number() ? value.to_number<double>() : std::nan("");
    if (!(number >= -100 && number <= 100)) {
      return InvalidField("logit_bias", "{} of token {} is not a number in [-100, 100]", Shown(value), id);
    }
    (*sampling.mutable_logit_bias())[id] = static_cast<float>(number);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSamplingFields(Fields& fields, v1::Sampling& sampling) {
  RETURN_IF_ERROR(ReadSampling(fields, sampling));
  RETURN_IF_ERROR(ReadMoreSamplers(fields, sampling));
  return ReadLogitBias(fields, sampling);
}

absl::Status ReadTokenIds(Fields& fields, std::string_view name, google::protobuf::RepeatedField<int32_t>& ids) {
  const json::value* value = fields.Raw(name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_array()) return InvalidField(name, "{} is not an array of token ids", Shown(*value));
  for (const json::value& element : value->get_array()) {
    const std::optional<int64_t> id = element.is_number() ? AsInteger(element) : std::nullopt;
    if (!id || *id < 0 || *id > kMaxInt32) return InvalidField(name, "{} is not a token id", Shown(element));
    ids.Add(static_cast<int32_t>(*id));
  }
  return absl::OkStatus();
}

absl::Status ReadSeed(Fields& fields, v1::GenerateRequest& request) {
  const json::value* seed = fields.Raw("seed");
  if (seed == nullptr) return absl::OkStatus();
  if (seed->is_uint64()) {
    request.set_seed(seed->get_uint64());
    return absl::OkStatus();
  }
  std::optional<int64_t> number = AsInteger(*seed);
  if (!number) return InvalidField("seed", "{} is not an integer of 64 bits", Shown(*seed));
  if (*number >= 0) request.set_seed(static_cast<uint64_t>(*number));
  return absl::OkStatus();
}

}  // namespace inferd::gateway
