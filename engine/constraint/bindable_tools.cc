#include "engine/constraint/bindable_tools.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "config/base/status.h"
#include "engine/constraint/json_schema.h"
#include "engine/constraint/program.h"
#include "engine/constraint/schema_keywords.h"

namespace inferd::constraint {
namespace {

namespace json = boost::json;

constexpr int kMostTrials = 400;  // of a tool's schemas
constexpr int kDeepestTools = 100;

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }

bool Compiles(const json::value& schema, const json::object& root, std::string& reason) {
  Grammar grammar;
  const absl::StatusOr<ExprId> expr = ReadJsonSchema(WithDefinitions(schema, root), grammar);
  if (!expr.ok()) {
    reason = std::string(MessageOf(expr.status()));
    return false;
  }
  grammar.set_root(grammar.AddRule("value"));
  grammar.Define(grammar.root(), *expr);
  const absl::Status status = Program::Create(grammar).status();
  reason = std::string(MessageOf(status));
  return status.ok();
}

// Takes out of a schema what does not compile: the keywords at fault, from the inside out.
class Relaxation {
 public:
  Relaxation(json::object root, std::string place, std::vector<Warning>& warnings)
      : root_(std::move(root)), place_(std::move(place)), warnings_(warnings) {}

  json::object Relaxed() {
    for (const char* shared : {"$defs", "definitions"}) {
      json::value* definitions = root_.if_contains(shared);
      if (definitions == nullptr || !definitions->is_object()) continue;
      // Relaxed one after the other, so that those which refer to each other see what is left.
      std::vector<std::string> names;
      for (const auto& member : definitions->get_object()) names.emplace_back(View(member.key()));
      for (const std::string& name : names) {
        const json::value schema = root_.at(shared).at(name);
        root_[shared].get_object()[name] = Relax(schema, std::string("#/") + shared + "/" + name);
      }
    }
    const json::value relaxed = Relax(json::value(root_), "#");
    return relaxed.is_object() ? relaxed.get_object() : json::object{{"type", "object"}};
  }

 private:
  bool Try(const json::value& schema) { return ++trials_ <= kMostTrials && Compiles(schema, root_, reason_); }

  void Warn(const std::string& place, std::string_view what) {
    warnings_.push_back({.field = place_, .text = fmt::format("at {}: {} was not bound: {}", place, what, reason_)});
  }

  json::value Relax(const json::value& schema, const std::string& place) {
    if (Try(schema)) return schema;
    if (!schema.is_object()) {
      Warn(place, "the schema");
      return true;
    }
    json::object object = schema.get_object();
    for (const char* keyword : {"properties", "patternProperties"}) {
      json::value* members = object.if_contains(keyword);
      if (members == nullptr || !members->is_object()) continue;
      for (auto& member : members->get_object()) {
        member.value() = Relax(member.value(), fmt::format("{}/{}/{}", place, keyword, View(member.key())));
      }
    }
    for (const char* keyword : {"items", "additionalProperties"}) {
      if (json::value* inside = object.if_contains(keyword); inside != nullptr && inside->is_object()) {
        *inside = Relax(*inside, fmt::format("{}/{}", place, keyword));
      }
    }
    for (const char* keyword : {"anyOf", "oneOf", "allOf", "prefixItems"}) {
      json::value* parts = object.if_contains(keyword);
      if (parts == nullptr || !parts->is_array()) continue;
      size_t index = 0;
      for (json::value& part : parts->get_array()) {
        part = Relax(part, fmt::format("{}/{}/{}", place, keyword, index++));
      }
    }
    return Try(object) ? json::value(object) : WithoutFaults(object, place);
  }

  // The keywords that compile together, the first ones first; the type before all.
  json::value WithoutFaults(const json::object& object, const std::string& place) {
    json::object kept;
    std::vector<std::string_view> keywords;
    for (const auto& member : object) keywords.push_back(View(member.key()));
    std::stable_partition(keywords.begin(), keywords.end(), [](std::string_view keyword) { return keyword == "type"; });
    for (const std::string_view keyword : keywords) {
      json::object more = kept;
      more[keyword] = object.at(keyword);
      if (IsAnnotation(keyword) || Try(more)) {
        kept = std::move(more);
      } else {
        Warn(place, keyword);
      }
    }
    return kept;
  }

  json::object root_;
  const std::string place_;
  std::vector<Warning>& warnings_;
  std::string reason_;
  int trials_ = 0;
};

bool IsStrict(const json::object& function) {
  const json::value* strict = function.if_contains("strict");
  return strict != nullptr && *strict == true;
}

bool WritesParametersByThemselves(const output::AnswerFormat& format) {
  if (format.calls == nullptr) return false;
  const output::CallBody body = format.calls->body;
  return body == output::CallBody::kParameters || body == output::CallBody::kPython || body == output::CallBody::kGemma;
}

// Whether it was changed.
bool RelaxParameters(json::object& parameters, const std::string& place, bool by_themselves,
                     std::vector<Warning>& warnings) {
  const size_t before = warnings.size();
  if (by_themselves) {
    for (std::string keyword; !(keyword = KeywordBeyondParameters(parameters)).empty();) {
      warnings.push_back(
          {.field = place,
           .text = fmt::format("at #: {} was not bound: this model's form of calls cannot keep it", keyword)});
      parameters.erase(keyword);
    }
  }
  std::string reason;
  if (!Compiles(json::value(parameters), parameters, reason)) {
    parameters = Relaxation(parameters, place, warnings).Relaxed();
  }
  return warnings.size() > before;
}

}  // namespace

std::string KeywordBeyondParameters(const json::object& parameters) {
  constexpr std::string_view kKept[] = {"type", "properties", "required", "additionalProperties"};
  for (const auto& member : parameters) {
    const std::string_view keyword = View(member.key());
    if (std::find(std::begin(kKept), std::end(kKept), keyword) == std::end(kKept) && !IsAnnotation(keyword)) {
      return std::string(keyword);
    }
  }
  return "";
}

json::value WithDefinitions(const json::value& schema, const json::object& root) {
  if (!schema.is_object()) return schema;
  json::object whole = schema.get_object();
  for (const char* shared : {"$defs", "definitions"}) {
    if (const json::value* definitions = root.if_contains(shared)) whole.emplace(shared, *definitions);
  }
  return whole;
}

BindableTools FindBindable(const std::string& tools_json, const output::AnswerFormat& format) {
  BindableTools bindable{.tools_json = tools_json};
  json::error_code error;
  json::parse_options options;
  options.max_depth = kDeepestTools;
  json::value tools = json::parse(tools_json, error, {}, options);
  if (error || !tools.is_array()) return bindable;
  size_t index = 0;
  for (json::value& tool : tools.get_array()) {
    const std::string place = fmt::format("chat.tools_json[{}].function.parameters", index++);
    json::value* function = tool.is_object() ? tool.get_object().if_contains("function") : nullptr;
    if (function == nullptr || !function->is_object() || IsStrict(function->get_object())) continue;
    json::value* parameters = function->get_object().if_contains("parameters");
    if (parameters == nullptr || !parameters->is_object() || parameters->get_object().empty()) continue;
    RelaxParameters(parameters->get_object(), place, WritesParametersByThemselves(format), bindable.warnings);
  }
  if (!bindable.warnings.empty()) bindable.tools_json = json::serialize(tools);
  return bindable;
}

}  // namespace inferd::constraint
