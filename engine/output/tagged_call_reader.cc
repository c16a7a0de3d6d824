// Calls that write each parameter by itself between marks: strings as they are, other values as JSON.
//
//   <function=NAME> <parameter=KEY> value </parameter> ... </function>
//   <invoke name="NAME"> <parameter name="KEY">value</parameter> ... </invoke>
//   NAME <arg_key>KEY</arg_key> <arg_value>value</arg_value> ...
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <utility>

#include "engine/output/call_reader.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLongestName = 512;

std::string_view Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::string Quoted(std::string_view text) {
  return boost::json::serialize(boost::json::value(boost::json::string_view(text.data(), text.size())));
}

bool IsName(std::string_view text) { return !text.empty() && text.find_first_of(" \t\r\n<>\"{}") == text.npos; }

// One parameter's value, given as JSON as far as it is decided what it is.
class ValueWriter {
 public:
  // `types`: of its schema, unless the call says more.
  ValueWriter(const ToolSchemas& tools, std::string_view tool, std::string_view key, JsonTypes types, bool own_lines)
      : tools_(tools), tool_(tool), key_(key), own_lines_(own_lines), types_(types) {}

  void Add(std::string_view piece, CallSink& sink) {
    held_ += piece;
    if (own_lines_ && !began_ && !held_.empty()) {
      if (held_.front() == '\n') held_.erase(0, 1);
      began_ = true;
    }
    Decide();
    Give(sink, /*last=*/false);
  }

  void End(CallSink& sink) {
    if (own_lines_ && held_.ends_with('\n')) held_.pop_back();
    if (way_ == Way::kUndecided && types_ == kJsonString) Begin();
    Give(sink, /*last=*/true);
    if (way_ == Way::kString) {
      sink.AddArguments(opened_ ? "\"" : "\"\"");
    } else if (way_ == Way::kUndecided) {
      sink.AddArguments(tools_.ToJson(tool_, key_, held_, /*says_json=*/types_ == kAnyJson));
    }
  }

 private:
  enum class Way { kUndecided, kString, kJson };

  void Begin() { way_ = Way::kString; }

  void Decide() {
    if (way_ != Way::kUndecided || held_.empty()) return;
    if (types_ == kJsonString) return Begin();
    const std::string_view text = Trimmed(held_);
    if (text.empty()) return;
    if ((types_ | kJsonNull) == (kJsonString | kJsonNull)) {
      // "null" alone is the value null.
      if (!std::string_view("null").starts_with(text)) Begin();
    } else if ((types_ & ~(kJsonObject | kJsonArray)) == 0 && (text[0] == '{' || text[0] == '[')) {
      way_ = Way::kJson;
    }
  }

  // All but what may be the end of the value's lines.
  void Give(CallSink& sink, bool last) {
    if (way_ == Way::kUndecided) return;
    size_t given = held_.size();
    if (way_ == Way::kJson) {
      if (!opened_) held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
      given = held_.find_last_not_of(kSpace) + 1;
    } else if (own_lines_ && !last && held_.ends_with('\n')) {
      --given;
    }
    if (given == 0) return;
    std::string written = held_.substr(0, given);
    held_.erase(0, given);
    if (way_ == Way::kString) {
      written = Quoted(written);
      written.pop_back();
      if (opened_) written.erase(0, 1);
    }
    opened_ = true;
    sink.AddArguments(written);
  }

  const ToolSchemas& tools_;
  const std::string tool_, key_;
  const bool own_lines_;
  const JsonTypes types_;
  Way way_ = Way::kUndecided;
  bool began_ = false, opened_ = false;
  std::string held_;
};

class TaggedCallReader final : public CallReader {
 public:
  TaggedCallReader(const CallSyntax& syntax, ToolSchemas tools)
      : syntax_(syntax),
        marks_(syntax.parameters),
        functions_(!marks_.function_open.empty()),
        place_(functions_ ? Place::kOpen : Place::kName),
        tools_(std::move(tools)) {}

  State Read(std::string_view text, size_t& at, CallSink& sink) override {
    while (true) {
      const Step step = Next(text, at, sink);
      if (step == Step::kOn) continue;
      if (step == Step::kWait) return State::kMore;
      return step == Step::kEnd ? State::kDone : State::kNoCall;
    }
  }

 private:
  enum class Place { kOpen, kName, kBody, kKey, kValueOpen, kValue };
  enum class Step { kOn, kWait, kEnd, kBad };

  // Whether more text may make the mark of it.
  static bool MayBegin(std::string_view text, std::string_view mark) {
    return text.size() < mark.size() && mark.starts_with(text);
  }

  // How much of the mark the text ends with.
  static size_t PartOf(std::string_view text, std::string_view mark) {
    size_t length = std::min(text.size(), mark.size());
    while (length > 0 && !text.ends_with(mark.substr(0, length))) --length;
    return length;
  }

  Step Next(std::string_view text, size_t& at, CallSink& sink) {
    switch (place_) {
      case Place::kOpen:
        return ReadOpen(text, at);
      case Place::kName:
        return ReadName(text, at, sink);
      case Place::kBody:
        return ReadBody(text, at, sink);
      case Place::kKey: {
        const size_t end = text.find(marks_.key_close, at);
        if (end == text.npos) return Step::kWait;
        key_ = functions_ ? text.substr(at, end - at) : Trimmed(text.substr(at, end - at));
        at = end + marks_.key_close.size();
        place_ = Place::kValueOpen;
        return Step::kOn;
      }
      case Place::kValueOpen: {
        const size_t begin = text.find(marks_.value_open, at);
        if (begin == text.npos) return Step::kWait;
        value_.emplace(tools_, name_, key_, TypesOf(text.substr(at, begin - at)), marks_.own_lines);
        at = begin + marks_.value_open.size();
        sink.AddArguments((members_++ > 0 ? ", " : "") + Quoted(key_) + ": ");
        place_ = Place::kValue;
        return Step::kOn;
      }
      case Place::kValue:
        return ReadValue(text, at, sink);
    }
    return Step::kBad;
  }

  // By what stands between key and value, or else by the schema.
  JsonTypes TypesOf(std::string_view between) const {
    const JsonTypes types = tools_.TypesOf(name_, key_);
    if (marks_.string_mark.empty()) return types;
    if (between == marks_.string_mark && (types & kJsonString) != 0) return kJsonString;
    return between == marks_.json_mark ? kAnyJson : types;
  }

  // The mark before a function's name, or the end of the calls.
  Step ReadOpen(std::string_view text, size_t& at) {
    const std::string_view open = marks_.function_open;
    const size_t begin = text.find_first_not_of(kSpace, at);
    if (begin == text.npos) return Step::kWait;
    const std::string_view rest = text.substr(begin);
    if (rest.starts_with(open)) {
      at = begin + open.size();
      place_ = Place::kName;
      return Step::kOn;
    }
    if (MayBegin(rest, open)) return Step::kWait;
    return told_ ? Step::kEnd : Step::kBad;
  }

  Step ReadName(std::string_view text, size_t& at, CallSink& sink) {
    const std::string_view rest = text.substr(at, kLongestName);
    size_t end = marks_.name_end.empty() ? rest.find('<') : rest.find(marks_.name_end);
    if (marks_.name_end.empty()) {
      // The name stands on the line of the mark.
      const size_t begin = rest.find_first_not_of(kSpace);
      end = std::min(end, begin == rest.npos ? begin : rest.find('\n', begin));
    }
    if (end == rest.npos) {
      const std::string_view name = Trimmed(rest.substr(0, rest.size() - PartOf(rest, marks_.name_end)));
      const bool may_be = name.empty() || IsName(name);
      return rest.size() < kLongestName && may_be ? Step::kWait : told_ ? Step::kEnd : Step::kBad;
    }
    name_ = Trimmed(rest.substr(0, end));
    if (!IsName(name_)) return told_ ? Step::kEnd : Step::kBad;
    at += end + marks_.name_end.size();
    members_ = 0;
    told_ = true;
    sink.BeginCall(name_);
    sink.AddArguments("{");
    place_ = Place::kBody;
    return Step::kOn;
  }

  // The next parameter, or the end; what else stands there means nothing.
  Step ReadBody(std::string_view text, size_t& at, CallSink& sink) {
    at = std::min(text.find('<', at), text.size());
    if (at == text.size()) return Step::kWait;
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(marks_.key_open)) {
      at += marks_.key_open.size();
      place_ = Place::kKey;
      return Step::kOn;
    }
    const bool ends = functions_ && rest.starts_with(marks_.function_close);
    if (ends || rest.starts_with(syntax_.close)) {
      sink.AddArguments("}");
      sink.EndCall();
      if (ends) at += marks_.function_close.size();
      place_ = Place::kOpen;
      return functions_ && ends ? Step::kOn : Step::kEnd;
    }
    if (MayBegin(rest, marks_.key_open) || MayBegin(rest, syntax_.close) ||
        (functions_ && MayBegin(rest, marks_.function_close))) {
      return Step::kWait;
    }
    ++at;
    return Step::kOn;
  }

  Step ReadValue(std::string_view text, size_t& at, CallSink& sink) {
    const size_t end = text.find(marks_.value_close, at);
    if (end != text.npos) {
      value_->Add(text.substr(at, end - at), sink);
      value_->End(sink);
      value_.reset();
      at = end + marks_.value_close.size();
      place_ = Place::kBody;
      return Step::kOn;
    }
    size_t kept = std::min(text.size() - at, marks_.value_close.size() - 1);
    while (kept > 0 && !marks_.value_close.starts_with(text.substr(text.size() - kept))) --kept;
    value_->Add(text.substr(at, text.size() - kept - at), sink);
    at = text.size() - kept;
    return Step::kWait;
  }

  const CallSyntax& syntax_;
  const ParameterMarks& marks_;
  const bool functions_;  // a mark stands before their names
  Place place_;
  const ToolSchemas tools_;
  std::string name_, key_;
  size_t members_ = 0;
  bool told_ = false;
  std::optional<ValueWriter> value_;
};

}  // namespace

std::unique_ptr<CallReader> MakeTaggedCallReader(const CallSyntax& syntax, ToolSchemas tools) {
  return std::make_unique<TaggedCallReader>(syntax, std::move(tools));
}

}  // namespace inferd::output
