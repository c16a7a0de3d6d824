// Calls that are JSON: {"name": ..., "arguments": {...}}, {NAME: {...}} or several of these, and a name with JSON
// behind it.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "engine/output/call_reader.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLongestName = 512;

bool IsSpace(char c) { return kSpace.find(c) != kSpace.npos; }

// The end of an object or list, a character at a time.
class NestedScan {
 public:
  // Whether the value ends with this character.
  bool Take(char c) {
    if (std::exchange(escaped_, false)) return false;
    if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
      return false;
    }
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') ++depth_;
    return (c == '}' || c == ']') && --depth_ == 0;
  }

 private:
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false;
};

std::optional<std::string> Unquoted(const std::string& inside) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse("\"" + inside + "\"", error);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

class JsonCallReader final : public CallReader {
 public:
  JsonCallReader(const CallSyntax& syntax, ToolSchemas tools, bool known_only)
      : syntax_(syntax), tools_(std::move(tools)), known_only_(known_only) {}

  State Read(std::string_view text, size_t& at, CallSink& sink) override {
    while (at < text.size()) {
      const char c = text[at];
      const Step step = Take(c, sink);
      if (step == Step::kBad) {
        Flush(sink);
        return told_ ? State::kDone : State::kNoCall;
      }
      if (step != Step::kAgain) ++at;
      if (step == Step::kEnd) {
        Flush(sink);
        return State::kDone;
      }
    }
    Flush(sink);
    return State::kMore;
  }

  bool LooksLikeCall() const override {
    if (name_) return tools_.Has(*name_);
    return place_ == Place::kString && IsName() && tools_.HasNameThatBegins(value_);
  }

 private:
  enum class Place { kStart, kItem, kKey, kKeyText, kColon, kValue, kString, kNested, kScalar };
  enum class Step { kTaken, kAgain, kEnd, kBad };

  Step Take(char c, CallSink& sink) {
    switch (place_) {
      case Place::kStart:
      case Place::kItem:
        return TakeBetween(c);
      case Place::kKey:
        if (IsSpace(c) || c == ',') return Step::kTaken;
        if (c == '}') return EndObject(sink);
        if (c != '"') return Step::kBad;
        key_.clear();
        return GoTo(Place::kKeyText);
      case Place::kKeyText:
        if (!TakeString(c, key_)) return Step::kTaken;
        if (keyed() && !began_) name_ = Unquoted(key_);
        return keyed() && !name_ ? Step::kBad : GoTo(Place::kColon);
      case Place::kColon:
        if (IsSpace(c)) return Step::kTaken;
        return c == ':' ? GoTo(Place::kValue) : Step::kBad;
      case Place::kValue:
        return BeginValue(c, sink);
      case Place::kString:
        if (!TakeString(c, value_)) return Step::kTaken;
        return EndString();
      case Place::kNested: {
        (streams_ ? piece_ : value_) += c;
        if (!nested_.Take(c)) return Step::kTaken;
        if (!streams_ && IsArguments()) arguments_ = value_;
        return GoTo(Place::kKey);
      }
      case Place::kScalar:
        if (!IsSpace(c) && c != ',' && c != '}' && c != ']') {
          value_ += c;
          return Step::kTaken;
        }
        if (IsArguments()) arguments_ = value_ == "null" ? "{}" : value_;
        place_ = Place::kKey;
        return Step::kAgain;
    }
    return Step::kBad;
  }

  Step GoTo(Place place) {
    place_ = place;
    return Step::kTaken;
  }

  Step TakeBetween(char c) {
    if (IsSpace(c)) return Step::kTaken;
    if (place_ == Place::kStart && c == '[') {
      is_list_ = true;
      return GoTo(Place::kItem);
    }
    if (place_ == Place::kItem && c == ',') return Step::kTaken;
    if (place_ == Place::kItem && c == ']') return told_ ? Step::kEnd : Step::kBad;
    if (c != '{') return Step::kBad;
    name_.reset();
    arguments_.reset();
    began_ = streams_ = false;
    return GoTo(Place::kKey);
  }

  // Whether the string ends.
  bool TakeString(char c, std::string& text) {
    if (c == '"' && !escaped_) return true;
    escaped_ = c == '\\' && !escaped_;
    text += c;
    return false;
  }

  bool keyed() const { return syntax_.body == CallBody::kKeyedJson; }
  bool IsArguments() const { return !began_ && (keyed() || key_ == "arguments" || key_ == "parameters"); }
  bool IsName() const { return !name_ && (key_ == "name" || key_ == syntax_.name_key); }

  Step BeginValue(char c, CallSink& sink) {
    if (IsSpace(c)) return Step::kTaken;
    value_.clear();
    streams_ = false;
    if (c == '"') return GoTo(Place::kString);
    if (c != '{' && c != '[') {
      if (c == ',' || c == '}' || c == ']') return Step::kBad;
      value_ = c;
      return GoTo(Place::kScalar);
    }
    nested_ = NestedScan();
    nested_.Take(c);
    if (IsArguments() && name_) {
      Begin(sink);
      streams_ = true;
    }
    (streams_ ? piece_ : value_) += c;
    return GoTo(Place::kNested);
  }

  Step EndString() {
    if (IsName()) {
      name_ = Unquoted(value_);
      if (!name_ || (known_only_ && !tools_.Has(*name_))) return Step::kBad;
    } else if (IsArguments()) {
      arguments_ = Unquoted(value_);
    }
    return GoTo(Place::kKey);
  }

  void Begin(CallSink& sink) {
    began_ = told_ = true;
    sink.BeginCall(*name_);
  }

  void Flush(CallSink& sink) {
    if (!piece_.empty()) sink.AddArguments(std::exchange(piece_, {}));
  }

  Step EndObject(CallSink& sink) {
    if (!name_) return Step::kBad;
    if (!began_) {
      Begin(sink);
      piece_ = arguments_.value_or("{}");
    }
    Flush(sink);
    sink.EndCall();
    place_ = Place::kItem;
    return is_list_ || syntax_.several == Several::kLines ? Step::kTaken : Step::kEnd;
  }

  const CallSyntax& syntax_;
  const ToolSchemas tools_;
  const bool known_only_;
  Place place_ = Place::kStart;
  bool is_list_ = false;
  bool told_ = false;     // some call
  bool began_ = false;    // the call of this object is told
  bool streams_ = false;  // the value is given as it comes
  bool escaped_ = false;
  NestedScan nested_;
  std::string key_, value_, piece_;
  std::optional<std::string> name_, arguments_;  // of this object
};

// NAME mark JSON, perhaps with an id and a mark before the name. DeepSeek R1 writes "function", the mark, the name and
// the JSON in a code block; Kimi writes "functions.NAME:0"; Mistral may put "[CALL_ID]id" behind the name.
class NamedCallReader final : public CallReader {
 public:
  explicit NamedCallReader(const CallSyntax& syntax) : syntax_(syntax) {}

  State Read(std::string_view text, size_t& at, CallSink& sink) override {
    if (place_ == Place::kName && !ReadName(text, at)) {
      return text.size() - at >= kLongestName ? State::kNoCall : State::kMore;
    }
    if (place_ == Place::kAfterName) {
      at = std::min(text.find_first_not_of(kSpace, at), text.size());
      if (at == text.size()) return State::kMore;
      const std::string_view rest = text.substr(at);
      if (rest[0] != '{' && name_ == "function") {
        place_ = Place::kSecondName;
      } else if (rest[0] != '{' && rest[0] != '[') {
        return ReadNothing(rest, sink);
      } else {
        Begin(sink);
      }
    }
    if (place_ == Place::kSecondName) {
      const size_t end = Near(text, at, "\n");
      if (end == text.npos) return text.size() - at >= kLongestName ? State::kNoCall : State::kMore;
      name_ = Name(text.substr(at, end - at));
      at = end;
      place_ = Place::kBlock;
    }
    if (place_ == Place::kBlock) {
      const size_t begin = Near(text, at, "{");
      if (begin == text.npos) return text.size() - at >= kLongestName ? State::kNoCall : State::kMore;
      at = begin;
      Begin(sink);
    }
    return ReadArguments(text, at, sink);
  }

 private:
  enum class Place { kName, kAfterName, kSecondName, kBlock, kArguments };

  static std::string Name(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
    text.remove_prefix(begin);
    text = text.substr(0, text.find_last_not_of(kSpace) + 1);
    text = text.substr(0, text.find("[CALL_ID]"));
    if (text.starts_with("functions.")) {
      text.remove_prefix(10);
      text = text.substr(0, text.rfind(':'));
    }
    return std::string(text);
  }

  // Where it is, unless what is before it is too long for a name.
  static size_t Near(std::string_view text, size_t at, std::string_view mark) {
    const size_t found = text.substr(at, kLongestName).find(mark);
    return found == text.npos ? found : at + found;
  }

  bool ReadName(std::string_view text, size_t& at) {
    const size_t mark = Near(text, at, syntax_.name_end);
    if (mark == text.npos) return false;
    std::string_view name = text.substr(at, mark - at);
    if (const size_t id = name.find(syntax_.id_end); !syntax_.id_end.empty() && id != name.npos) {
      name.remove_prefix(id + syntax_.id_end.size());
    }
    name_ = Name(name);
    at = mark + syntax_.name_end.size();
    place_ = Place::kAfterName;
    return true;
  }

  // A call without arguments, if the mark that closes it is there.
  State ReadNothing(std::string_view rest, CallSink& sink) {
    if (syntax_.close.starts_with(rest) && rest != syntax_.close) return State::kMore;
    if (name_.empty() || syntax_.close.empty() || !rest.starts_with(syntax_.close)) return State::kNoCall;
    Begin(sink);
    sink.AddArguments("{}");
    sink.EndCall();
    return State::kDone;
  }

  void Begin(CallSink& sink) {
    place_ = Place::kArguments;
    if (!name_.empty()) sink.BeginCall(name_);
  }

  State ReadArguments(std::string_view text, size_t& at, CallSink& sink) {
    if (name_.empty()) return State::kNoCall;
    const size_t begin = at;
    bool ended = false;
    while (at < text.size() && !ended) ended = nested_.Take(text[at++]);
    if (at > begin) sink.AddArguments(text.substr(begin, at - begin));
    if (!ended) return State::kMore;
    sink.EndCall();
    return State::kDone;
  }

  const CallSyntax& syntax_;
  Place place_ = Place::kName;
  std::string name_;
  NestedScan nested_;
};

}  // namespace

std::unique_ptr<CallReader> MakeJsonCallReader(const CallSyntax& syntax, ToolSchemas tools, bool known_only) {
  return std::make_unique<JsonCallReader>(syntax, std::move(tools), known_only);
}
std::unique_ptr<CallReader> MakeNamedCallReader(const CallSyntax& syntax) {
  return std::make_unique<NamedCallReader>(syntax);
}
std::unique_ptr<CallReader> MakeCallReader(const CallSyntax& syntax, ToolSchemas tools, bool known_only) {
  switch (syntax.body) {
    case CallBody::kJson:
    case CallBody::kKeyedJson:
      return MakeJsonCallReader(syntax, std::move(tools), known_only);
    case CallBody::kNamedJson:
      return MakeNamedCallReader(syntax);
    case CallBody::kPython:
    case CallBody::kGemma:
      return MakeLiteralCallReader(syntax);
    case CallBody::kParameters:
      break;
  }
  return MakeTaggedCallReader(syntax, std::move(tools));
}

}  // namespace inferd::output
