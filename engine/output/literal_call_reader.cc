// Calls whose arguments are literals of a language, which become JSON as they come.
//
//   [NAME(key='text', other=[1, True, None]), ...]           Python
//   call:NAME{key:<|"|>text<|"|>,other:[1,true]}             Gemma
#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/output/call_reader.h"

namespace inferd::output {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kLongestName = 512, kDeepest = 100;

std::string Quoted(std::string_view text) {
  return boost::json::serialize(boost::json::value(boost::json::string_view(text.data(), text.size())));
}

bool IsNameByte(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

// A word that is no text in quotes: a constant, a number, or else a text.
std::string WordAsJson(std::string_view word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  if (word == "None" || word == "null") return "null";
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse({word.data(), word.size()}, error);
  return !error && value.is_number() ? std::string(word) : Quoted(word);
}

// What stands behind the backslash of a Python literal, as JSON.
class Escape {
 public:
  // Nullopt: more characters belong to it.
  std::optional<std::string> Take(char c) {
    if (digits_left_ == 0) return TakeFirst(c);
    if (!absl::ascii_isxdigit(c)) {
      digits_left_ = 0;
      return "\\\\" + seen_ + Quoted({&c, 1}).substr(1, Quoted({&c, 1}).size() - 2);
    }
    seen_ += c;
    code_ = code_ * 16 + static_cast<uint32_t>(absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
    if (--digits_left_ > 0) return std::nullopt;
    return CodeAsJson();
  }

 private:
  std::optional<std::string> TakeFirst(char c) {
    code_ = 0;
    seen_ = c;
    switch (c) {
      case 'x':
        digits_left_ = 2;
        return std::nullopt;
      case 'u':
        digits_left_ = 4;
        return std::nullopt;
      case 'U':
        digits_left_ = 8;
        return std::nullopt;
      case 'n':
      case 't':
      case 'r':
      case 'b':
      case 'f':
      case '"':
      case '\\':
        return std::string{'\\', c};
      case 'a':
        return "\\u0007";
      case 'v':
        return "\\u000b";
      case '0':
        return "\\u0000";
      case '\'':
      case '/':
        return std::string{c};
      case '\n':
        return "";  // the text goes on in the next line
      default:
        return std::string("\\\\") + c;
    }
  }

  std::string CodeAsJson() const {
    if (code_ > 0x10FFFF) return "\\ufffd";
    if (code_ <= 0xFFFF) return fmt::format("\\u{:04x}", code_);
    const uint32_t high = 0xD800 + ((code_ - 0x10000) >> 10), low = 0xDC00 + ((code_ - 0x10000) & 0x3FF);
    return fmt::format("\\u{:04x}\\u{:04x}", high, low);
  }

  int digits_left_ = 0;
  uint32_t code_ = 0;
  std::string seen_;
};

class LiteralCallReader final : public CallReader {
 public:
  explicit LiteralCallReader(const CallSyntax& syntax) : python_(syntax.body == CallBody::kPython) {}

  State Read(std::string_view text, size_t& at, CallSink& sink) override {
    while (at < text.size()) {
      const Step step = Next(text, at, sink);
      if (step == Step::kOn) continue;
      Flush(sink);
      if (step == Step::kWait) return State::kMore;
      return step == Step::kEnd || told_ ? State::kDone : State::kNoCall;
    }
    Flush(sink);
    return State::kMore;
  }

 private:
  enum class Place { kStart, kName, kItem, kKey, kKeyEnd, kValue, kWord, kText };
  enum class Step { kOn, kWait, kEnd, kBad };
  struct Frame {
    char close;
    bool is_object;
    bool empty = true;
  };

  void Flush(CallSink& sink) {
    if (!piece_.empty()) sink.AddArguments(std::exchange(piece_, {}));
  }

  Step GoTo(Place place) {
    place_ = place;
    return Step::kOn;
  }

  Step Next(std::string_view text, size_t& at, CallSink& sink) {
    const char c = text[at];
    const bool is_space = kSpace.find(c) != kSpace.npos;
    switch (place_) {
      case Place::kStart:
        return is_space ? Skip(at) : ReadStart(text, at);
      case Place::kName:
        return ReadName(c, at, sink);
      case Place::kItem:
        return is_space || c == ',' ? Skip(at) : ReadItem(text, at, sink);
      case Place::kKey:
        return ReadKey(c, at);
      case Place::kKeyEnd:
        if (is_space) return Skip(at);
        if (c != ':' && c != '=') return Step::kBad;
        ++at;
        return GoTo(Place::kValue);
      case Place::kValue:
        return is_space ? Skip(at) : ReadValue(text, at);
      case Place::kWord:
        if (!is_space && std::string_view(",)]}").find(c) == std::string_view::npos) {
          word_ += c;
          return Skip(at);
        }
        piece_ += WordAsJson(std::exchange(word_, {}));
        return GoTo(Place::kItem);
      case Place::kText:
        return ReadText(text, at);
    }
    return Step::kBad;
  }

  static Step Skip(size_t& at) {
    ++at;
    return Step::kOn;
  }

  Step ReadStart(std::string_view text, size_t& at) {
    if (python_) {
      if (text[at] != '[') return Step::kBad;
      ++at;
      return GoTo(Place::kName);
    }
    constexpr std::string_view kCall = "call:";
    const std::string_view rest = text.substr(at, kCall.size());
    if (rest != kCall) return kCall.starts_with(rest) ? Step::kWait : Step::kBad;
    at += kCall.size();
    return GoTo(Place::kName);
  }

  Step ReadName(char c, size_t& at, CallSink& sink) {
    if (IsNameByte(c)) {
      if (name_.size() >= kLongestName) return Step::kBad;
      name_ += c;
      return Skip(at);
    }
    if (name_.empty()) {
      if (c == ',' || kSpace.find(c) != kSpace.npos) return Skip(at);
      if (c == ']' && python_ && told_) ++at;
      return told_ ? Step::kEnd : Step::kBad;
    }
    if (c != (python_ ? '(' : '{')) return Step::kBad;
    ++at;
    told_ = true;
    sink.BeginCall(std::exchange(name_, {}));
    piece_ = "{";
    frames_ = {{.close = python_ ? ')' : '}', .is_object = true}};
    return GoTo(Place::kItem);
  }

  // The next one of the innermost list or object, or its end.
  Step ReadItem(std::string_view text, size_t& at, CallSink& sink) {
    Frame& frame = frames_.back();
    if (text[at] == frame.close) {
      piece_ += frame.is_object ? '}' : ']';
      ++at;
      frames_.pop_back();
      if (!frames_.empty()) return Step::kOn;
      Flush(sink);
      sink.EndCall();
      place_ = Place::kName;
      return python_ ? Step::kOn : Step::kEnd;
    }
    if (!frame.is_object) {
      Separate();
      return ReadValue(text, at);
    }
    const size_t quote = QuoteAt(text, at);
    if (quote == kMayBeQuote) return Step::kWait;
    Separate();
    if (quote == 0) return GoTo(Place::kKey);
    is_key_ = true;
    return BeginText(text, at, quote);
  }

  void Separate() {
    if (!std::exchange(frames_.back().empty, false)) piece_ += ", ";
  }

  Step ReadKey(char c, size_t& at) {
    if (c != '=' && c != ':') {
      if (std::string_view("()[]{},'\"").find(c) != std::string_view::npos || word_.size() >= kLongestName) {
        return Step::kBad;
      }
      if (kSpace.find(c) == kSpace.npos) word_ += c;
      return Skip(at);
    }
    piece_ += Quoted(std::exchange(word_, {})) + ": ";
    ++at;
    return GoTo(Place::kValue);
  }

  Step ReadValue(std::string_view text, size_t& at) {
    const char c = text[at];
    if (c == '[' || c == '{' || (c == '(' && python_)) {
      if (frames_.size() >= kDeepest) return Step::kBad;
      frames_.push_back({.close = c == '(' ? ')' : c == '[' ? ']' : '}', .is_object = c == '{'});
      piece_ += c == '{' ? '{' : '[';
      ++at;
      return GoTo(Place::kItem);
    }
    const size_t quote = QuoteAt(text, at);
    if (quote == kMayBeQuote) return Step::kWait;
    if (quote > 0) return BeginText(text, at, quote);
    if (std::string_view(",)]}=:").find(c) != std::string_view::npos) return Step::kBad;
    return GoTo(Place::kWord);
  }

  // The length of the mark that begins a text here; 0: none.
  static constexpr size_t kMayBeQuote = static_cast<size_t>(-1);
  size_t QuoteAt(std::string_view text, size_t at) const {
    if (text[at] == '"' || (text[at] == '\'' && python_)) return 1;
    const std::string_view rest = text.substr(at, kGemmaQuote.size());
    if (python_ || !kGemmaQuote.starts_with(rest)) return 0;
    return rest == kGemmaQuote ? kGemmaQuote.size() : kMayBeQuote;
  }

  Step BeginText(std::string_view text, size_t& at, size_t quote_size) {
    quote_ = text.substr(at, quote_size);
    at += quote_size;
    piece_ += '"';
    escape_.reset();
    return GoTo(Place::kText);
  }

  Step ReadText(std::string_view text, size_t& at) {
    const char c = text[at];
    if (escape_) {
      ++at;
      if (const std::optional<std::string> json = escape_->Take(c)) {
        piece_ += *json;
        escape_.reset();
      }
      return Step::kOn;
    }
    const std::string_view rest = text.substr(at, quote_.size());
    if (rest == quote_) {
      at += quote_.size();
      piece_ += '"';
      if (!std::exchange(is_key_, false)) return GoTo(Place::kItem);
      piece_ += ": ";
      return GoTo(Place::kKeyEnd);
    }
    if (quote_.starts_with(rest)) return Step::kWait;
    ++at;
    if (c == '\\' && quote_.size() == 1) {
      escape_.emplace();
    } else {
      const std::string json = Quoted({&c, 1});
      piece_.append(json, 1, json.size() - 2);
    }
    return Step::kOn;
  }

  const bool python_;
  Place place_ = Place::kStart;
  bool told_ = false;  // some call
  bool is_key_ = false;
  std::string name_, word_, piece_, quote_;
  std::optional<Escape> escape_;
  std::vector<Frame> frames_;
};

}  // namespace

std::unique_ptr<CallReader> MakeLiteralCallReader(const CallSyntax& syntax) {
  return std::make_unique<LiteralCallReader>(syntax);
}

}  // namespace inferd::output
