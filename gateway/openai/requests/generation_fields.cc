#include "gateway/openai/requests/generation_fields.h"

#include <boost/json/array.hpp>
#include <charconv>
#include <cmath>

#include "config/base/status.h"
#include "gateway/api/deadline_field.h"
#include "gateway/api/priority_field.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/requests/constraint_fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr size_t kMaxStops = 16;
constexpr size_t kMaxStopBytes = 256;
constexpr size_t kMaxLogitBias = 65'536;

absl::Status AddTokenIds(Fields& fields, std::string_view name, google::protobuf::RepeatedField<int32_t>& ids) {
  const json::value* value = fields.Raw(name);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_array()) return InvalidArgument("{}: {} is not an array of token ids", name, Shown(*value));
  for (const json::value& element : value->get_array()) {
    const std::optional<int64_t> id = element.is_number() ? AsInteger(element) : std::nullopt;
    if (!id || *id < 0 || *id > kMaxInt32) return InvalidArgument("{}: {} is not a token id", name, Shown(element));
    ids.Add(static_cast<int32_t>(*id));
  }
  return absl::OkStatus();
}

// vLLM's and Hugging Face's repetition_penalty is the same with the whole context to look at.
absl::Status ReadRepeatPenalty(Fields& fields, v1::Sampling& sampling) {
  constexpr Bounds kPenalty{.least = 0, .most = 10, .above = 0};
  ASSIGN_OR_RETURN(auto repeat, fields.Number("repeat_penalty", kPenalty));
  ASSIGN_OR_RETURN(auto repetition, fields.Number("repetition_penalty", kPenalty));
  if (repeat && repetition && *repeat != *repetition) {
    return InvalidArgument("repetition_penalty: {} is not repeat_penalty, which is {}, and both mean the same",
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
  ASSIGN_OR_RETURN(auto breakers, fields.Strings("dry_sequence_breakers", 64, kMaxStopBytes));
  sampling.mutable_dry_sequence_breakers()->Add(breakers.begin(), breakers.end());
  ASSIGN_OR_RETURN(auto mirostat, fields.Integer("mirostat", 0, 2));
  if (mirostat) sampling.set_mirostat(static_cast<int32_t>(*mirostat));
  ASSIGN_OR_RETURN(auto tau, fields.Number("mirostat_tau", {.least = 0, .most = 100}));
  if (tau) sampling.set_mirostat_tau(static_cast<float>(*tau));
  ASSIGN_OR_RETURN(auto eta, fields.Number("mirostat_eta", {.least = 0, .most = 1}));
  if (eta) sampling.set_mirostat_eta(static_cast<float>(*eta));
  ASSIGN_OR_RETURN(auto bad_words, fields.Strings("bad_words", 256, 256));
  sampling.mutable_bad_words()->Add(bad_words.begin(), bad_words.end());
  return AddTokenIds(fields, "allowed_token_ids", *sampling.mutable_allowed_token_ids());
}

absl::Status ReadLogitBias(Fields& fields, v1::Sampling& sampling) {
  ASSIGN_OR_RETURN(auto bias, fields.Object("logit_bias"));
  if (!bias) return absl::OkStatus();
  if (bias->size() > kMaxLogitBias) return InvalidArgument("logit_bias: more than {} tokens", kMaxLogitBias);
  for (const auto& [key, value] : *bias) {
    int32_t id = -1;
    auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    // One spelling for each token: "7" and "07" would be two values of it.
    if (parsed.ec != std::errc() || key != std::to_string(id) || id < 0) {
      return InvalidArgument("logit_bias: the key '{}' is not a token id", ValidText({key.data(), key.size()}, 32));
    }
    double number = value.is_number() ? value.to_number<double>() : std::nan("");
    if (!(number >= -100 && number <= 100)) {
      return InvalidArgument("logit_bias: {} of token {} is not a number in [-100, 100]", Shown(value), id);
    }
    (*sampling.mutable_logit_bias())[id] = static_cast<float>(number);
  }
  return absl::OkStatus();
}

absl::Status ReadOverflow(Fields& fields, v1::Limits& limits) {
  ASSIGN_OR_RETURN(auto overflow, fields.String("overflow", 16));
  if (overflow && *overflow != "stop" && *overflow != "slide") {
    return InvalidArgument("overflow: expected \"stop\" or \"slide\"");
  }
  if (overflow) limits.set_overflow(*overflow == "slide" ? v1::OVERFLOW_SLIDE : v1::OVERFLOW_STOP);
  ASSIGN_OR_RETURN(auto keep, fields.Integer("overflow_keep", 0, kMaxInt32));
  if (keep) limits.set_overflow_keep(static_cast<uint32_t>(*keep));
  return absl::OkStatus();
}

// All choices that are made are given.
absl::Status CheckBestOf(Fields& fields, uint32_t choices) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> best_of, fields.Integer("best_of", 1, kMaxInt32));
  if (!best_of || *best_of == choices) return absl::OkStatus();
  return InvalidArgument("best_of: {} is not n, which is {}: choosing among more answers is not supported", *best_of,
                         choices);
}

// By the names of OpenAI, llama.cpp and Hugging Face; -1 means up to the context's end, as in other servers.
absl::Status ReadMaxTokens(Fields& fields, v1::GenerateRequest& request, GenerationFields& common) {
  std::string_view given;
  std::optional<int64_t> limit;
  for (const std::string_view name : {"max_completion_tokens", "max_tokens", "n_predict", "max_new_tokens"}) {
    ASSIGN_OR_RETURN(const std::optional<int64_t> value, fields.Integer(name, -1, kMaxInt32));
    if (!value) continue;
    // OpenAI's newer name has precedence over its older one, which its clients send along.
    if (limit && *limit != *value && name != "max_tokens") {
      return InvalidArgument("{}: {} is not {}, which is {}, and both mean the same", name, *value, given, *limit);
    }
    if (limit) continue;
    limit = value;
    given = name;
  }
  common.has_max_tokens = limit.has_value();
  if (limit.value_or(-1) >= 0) request.mutable_limits()->set_max_tokens(static_cast<uint32_t>(*limit));
  return absl::OkStatus();
}

absl::Status ReadLimits(Fields& fields, v1::GenerateRequest& request, GenerationFields& common) {
  RETURN_IF_ERROR(ReadMaxTokens(fields, request, common));
  ASSIGN_OR_RETURN(auto min_tokens, fields.Integer("min_tokens", 0, kMaxInt32));
  if (min_tokens) request.mutable_limits()->set_min_tokens(static_cast<uint32_t>(*min_tokens));
  RETURN_IF_ERROR(ReadOverflow(fields, *request.mutable_limits()));
  ASSIGN_OR_RETURN(auto choices, fields.Integer("n", 1, 128));
  request.set_choices(static_cast<uint32_t>(choices.value_or(1)));
  return CheckBestOf(fields, request.choices());
}

absl::Status AddStop(const json::value& value, v1::GenerateRequest& request) {
  if (!value.is_string()) return InvalidArgument("stop: {} is not a string", Shown(value));
  const json::string& text = value.get_string();
  if (text.empty()) return absl::OkStatus();  // stops nowhere, as in other servers
  if (text.size() > kMaxStopBytes) {
    return InvalidArgument("stop: a text of {} bytes, expected at most {}", text.size(), kMaxStopBytes);
  }
  request.add_stop(text.data(), text.size());
  return absl::OkStatus();
}

absl::Status ReadStop(Fields& fields, v1::GenerateRequest& request) {
  RETURN_IF_ERROR(AddTokenIds(fields, "stop_token_ids", *request.mutable_stop_token_ids()));
  ASSIGN_OR_RETURN(auto include, fields.Boolean("include_stop_str_in_output"));
  request.set_include_stop(include.value_or(false));
  const json::value* stop = fields.Raw("stop");
  if (stop == nullptr) return absl::OkStatus();
  if (!stop->is_array()) return AddStop(*stop, request);
  if (stop->get_array().size() > kMaxStops) return InvalidArgument("stop: more than {} texts", kMaxStops);
  for (const json::value& value : stop->get_array()) RETURN_IF_ERROR(AddStop(value, request));
  return absl::OkStatus();
}

// Any integer of 64 bits; negative ones mean "random", as in other servers.
absl::Status ReadSeed(Fields& fields, v1::GenerateRequest& request) {
  const json::value* seed = fields.Raw("seed");
  if (seed == nullptr) return absl::OkStatus();
  if (seed->is_uint64()) {
    request.set_seed(seed->get_uint64());
    return absl::OkStatus();
  }
  std::optional<int64_t> number = AsInteger(*seed);
  if (!number) return InvalidArgument("seed: {} is not an integer of 64 bits", Shown(*seed));
  if (*number >= 0) request.set_seed(static_cast<uint64_t>(*number));
  return absl::OkStatus();
}

// What restricts or changes the output elsewhere and is not done here: it must not be lost in silence. Values that ask
// for nothing are taken.
absl::Status RefuseUnsupported(Fields& fields) {
  struct Unsupported {
    std::string_view name;
    std::string_view instead;
  };
  static constexpr Unsupported kUnsupported[] = {
      {"guided_whitespace_pattern", "use grammar"},
      {"structural_tag", "use tools"},
      {"grammar_lazy", "use tools"},
      {"grammar_triggers", "use tools"},
      {"logits_processors", "use logit_bias or grammar"},
      {"use_beam_search", "answers are drawn one token after the other"},
      {"n_indent", "use grammar"},
      {"t_max_predict_ms", "use max_tokens or deadline_ms"},
      {"functions", "use tools"},
      {"function_call", "use tool_choice"},
      {"audio", "only text is generated"},
  };
  for (const Unsupported& one : kUnsupported) {
    const json::value* value = fields.Raw(one.name);
    if (value == nullptr || *value == false || (value->is_array() && value->get_array().empty())) continue;
    return InvalidArgument("{}: is not supported, {}", one.name, one.instead);
  }
  const json::value* modalities = fields.Raw("modalities");
  if (modalities != nullptr && *modalities != json::value(json::array{"text"})) {
    return InvalidArgument("modalities: expected [\"text\"], only text is generated");
  }
  return absl::OkStatus();
}

absl::Status ReadStreaming(Fields& fields, GenerationFields& common) {
  ASSIGN_OR_RETURN(auto stream, fields.Boolean("stream"));
  common.stream = stream.value_or(false);
  ASSIGN_OR_RETURN(auto options, fields.Object("stream_options"));
  if (!options) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(options), "stream_options");
  ASSIGN_OR_RETURN(auto include_usage, inner.Boolean("include_usage"));
  common.include_usage = include_usage.value_or(false);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadGenerationFields(Fields& fields, v1::GenerateRequest& request, GenerationFields& common) {
  ASSIGN_OR_RETURN(auto model, fields.String("model", 256));
  common.model = model.value_or("");
  RETURN_IF_ERROR(ReadStreaming(fields, common));
  RETURN_IF_ERROR(ReadSampling(fields, *request.mutable_sampling()));
  RETURN_IF_ERROR(ReadMoreSamplers(fields, *request.mutable_sampling()));
  RETURN_IF_ERROR(ReadLogitBias(fields, *request.mutable_sampling()));
  RETURN_IF_ERROR(ReadLimits(fields, request, common));
  RETURN_IF_ERROR(ReadStop(fields, request));
  RETURN_IF_ERROR(ReadSeed(fields, request));
  ASSIGN_OR_RETURN(common.constraint_name, ReadConstraint(fields, request));
  RETURN_IF_ERROR(RefuseUnsupported(fields));
  ASSIGN_OR_RETURN(const v1::Priority priority, ReadPriority(fields));
  request.set_priority(priority);
  ASSIGN_OR_RETURN(auto user, fields.String("user", 256));
  common.user = user.value_or("");
  request.set_user(common.user);
  ASSIGN_OR_RETURN(auto salt, fields.String("cache_salt", 256));
  request.set_cache_salt(salt.value_or(""));
  ASSIGN_OR_RETURN(auto return_ids, fields.Boolean("return_token_ids"));
  common.return_token_ids = return_ids.value_or(false);
  request.set_return_token_ids(common.return_token_ids);
  ASSIGN_OR_RETURN(common.deadline, ReadDeadline(fields));
  return absl::OkStatus();
}

}  // namespace inferd::gateway
