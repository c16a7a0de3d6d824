#include "gateway/openai/requests/generation_fields.h"

#include <boost/json/array.hpp>

#include "config/base/status.h"
#include "gateway/api/deadline_field.h"
#include "gateway/api/priority_field.h"
#include "gateway/api/sampling_fields.h"
#include "gateway/openai/requests/constraint_fields.h"
#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr size_t kMaxStops = 16;
constexpr size_t kMaxStopBytes = 256;

absl::Status ReadOverflow(Fields& fields, v1::Limits& limits) {
  ASSIGN_OR_RETURN(auto overflow, fields.String("overflow", 16));
  if (overflow && *overflow != "stop" && *overflow != "slide") {
    return InvalidField("overflow", "expected \"stop\" or \"slide\"");
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
  return InvalidField("best_of", "{} is not n, which is {}: choosing among more answers is not supported", *best_of,
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
      return InvalidField(name, "{} is not {}, which is {}, and both mean the same", *value, given, *limit);
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
  if (!value.is_string()) return InvalidField("stop", "{} is not a string", Shown(value));
  const json::string& text = value.get_string();
  if (text.empty()) return absl::OkStatus();  // stops nowhere, as in other servers
  if (text.size() > kMaxStopBytes) {
    return InvalidField("stop", "a text of {} bytes, expected at most {}", text.size(), kMaxStopBytes);
  }
  request.add_stop(text.data(), text.size());
  return absl::OkStatus();
}

absl::Status ReadStop(Fields& fields, v1::GenerateRequest& request) {
  RETURN_IF_ERROR(ReadTokenIds(fields, "stop_token_ids", *request.mutable_stop_token_ids()));
  ASSIGN_OR_RETURN(auto include, fields.Boolean("include_stop_str_in_output"));
  request.set_include_stop(include.value_or(false));
  const json::value* stop = fields.Raw("stop");
  if (stop == nullptr) return absl::OkStatus();
  if (!stop->is_array()) return AddStop(*stop, request);
  if (stop->get_array().size() > kMaxStops) return InvalidField("stop", "more than {} texts", kMaxStops);
  for (const json::value& value : stop->get_array()) RETURN_IF_ERROR(AddStop(value, request));
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
    return InvalidField(one.name, "is not supported, {}", one.instead);
  }
  const json::value* modalities = fields.Raw("modalities");
  if (modalities != nullptr && *modalities != json::value(json::array{"text"})) {
    return InvalidField("modalities", "expected [\"text\"], only text is generated");
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
  RETURN_IF_ERROR(ReadSamplingFields(fields, *request.mutable_sampling()));
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
