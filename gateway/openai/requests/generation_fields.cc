#include "gateway/openai/requests/generation_fields.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

#include "config/base/status.h"
#include "gateway/json/valid_text.h"
#include "gateway/openai/requests/deadline_field.h"
#include "gateway/openai/requests/priority_field.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr size_t kMaxStops = 16;
constexpr size_t kMaxStopBytes = 256;
constexpr size_t kMaxGrammarBytes = 1 << 20;
constexpr size_t kMaxLogitBias = 65'536;

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
  ASSIGN_OR_RETURN(auto repeat, fields.Number("repeat_penalty", {.least = 0, .most = 10, .above = 0}));
  if (repeat) sampling.set_repeat_penalty(static_cast<float>(*repeat));
  ASSIGN_OR_RETURN(auto last_n, fields.Integer("repeat_last_n", -1, kMaxInt32));
  if (last_n) sampling.set_repeat_last_n(static_cast<int32_t>(*last_n));
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
  return absl::OkStatus();
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

absl::Status ReadLimits(Fields& fields, v1::GenerateRequest& request) {
  ASSIGN_OR_RETURN(auto max_tokens, fields.Integer("max_tokens", 0, kMaxInt32));
  ASSIGN_OR_RETURN(auto max_completion_tokens, fields.Integer("max_completion_tokens", 0, kMaxInt32));
  if (auto limit = max_completion_tokens ? max_completion_tokens : max_tokens) {
    request.mutable_limits()->set_max_tokens(static_cast<uint32_t>(*limit));
  }
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

absl::Status ReadResponseFormat(Fields& fields, v1::Constraint& constraint) {
  ASSIGN_OR_RETURN(auto format, fields.Object("response_format"));
  if (!format) return absl::OkStatus();
  Fields inner = fields.Within(*std::move(format), "response_format");
  ASSIGN_OR_RETURN(auto type, inner.String("type", 64));
  if (!type) return InvalidArgument("response_format.type: is missing");
  if (*type == "text") return absl::OkStatus();
  if (*type == "json_object") {
    const json::value* schema = inner.Raw("schema");
    if (schema == nullptr) {
      constraint.set_json_object(true);
    } else if (schema->is_object()) {
      constraint.set_json_schema(json::serialize(*schema));
    } else {
      return InvalidArgument("response_format.schema: {} is not a JSON schema, expected an object", Shown(*schema));
    }
    return absl::OkStatus();
  }
  if (*type != "json_schema") {
    return InvalidArgument("response_format.type: '{}' is not text, json_object or json_schema", *type);
  }
  ASSIGN_OR_RETURN(auto named, inner.Object("json_schema"));
  if (!named) return InvalidArgument("response_format.json_schema: is missing");
  Fields schema_fields = inner.Within(*std::move(named), "response_format.json_schema");
  schema_fields.Ignore("description");
  ASSIGN_OR_RETURN([[maybe_unused]] auto name, schema_fields.String("name", 256));
  ASSIGN_OR_RETURN([[maybe_unused]] auto strict, schema_fields.Boolean("strict"));
  const json::value* schema = schema_fields.Raw("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool())) {
    return InvalidArgument("response_format.json_schema.schema: is missing or no JSON schema");
  }
  constraint.set_json_schema(json::serialize(*schema));
  return absl::OkStatus();
}

absl::Status ReadConstraint(Fields& fields, v1::GenerateRequest& request) {
  v1::Constraint constraint;
  RETURN_IF_ERROR(ReadResponseFormat(fields, constraint));
  ASSIGN_OR_RETURN(auto grammar, fields.String("grammar", kMaxGrammarBytes));
  ASSIGN_OR_RETURN(auto regex, fields.String("guided_regex", kMaxGrammarBytes));
  for (const auto& [name, text] : {std::pair("grammar", &grammar), std::pair("guided_regex", &regex)}) {
    if (!*text || (*text)->empty()) continue;
    if (constraint.kind_case() != v1::Constraint::KIND_NOT_SET) {
      return InvalidArgument("{}: only one of response_format, grammar and guided_regex can be given", name);
    }
    if (text == &grammar) constraint.set_grammar(**text);
    if (text == &regex) constraint.set_regex(**text);
  }
  if (constraint.kind_case() != v1::Constraint::KIND_NOT_SET) *request.mutable_constraint() = std::move(constraint);
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
      {"guided_json", "use response_format"},
      {"guided_choice", "use grammar or guided_regex"},
      {"guided_grammar", "use grammar"},
      {"structured_outputs", "use response_format, grammar or guided_regex"},
      {"json_schema", "use response_format"},
      {"structural_tag", "use tools"},
      {"stop_token_ids", "use stop"},
      {"allowed_token_ids", "use logit_bias or grammar"},
      {"include_stop_str_in_output", "append the stop text"},
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
  RETURN_IF_ERROR(ReadLimits(fields, request));
  RETURN_IF_ERROR(ReadStop(fields, request));
  RETURN_IF_ERROR(ReadSeed(fields, request));
  RETURN_IF_ERROR(ReadConstraint(fields, request));
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
