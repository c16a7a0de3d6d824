#include "engine/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

#include "config/base/status.h"
#include "engine/tokenizer/utf8.h"

namespace inferd::tokenizer {
namespace {

constexpr uint32_t kMatchLimit = 50'000'000;    // steps of one match
constexpr uint32_t kHeapLimit_kib = 64 * 1024;  // of the interpreter, which takes over where the JIT's stack ends

std::string MessageOfError(int error) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(error, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

// PCRE2's \s has U+180E, which has not been white space since Unicode 6.3.
std::string WithWhiteSpaceProperty(std::string_view expression) {
  std::string result;
  for (size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '\\' || at + 1 == expression.size()) {
      result += expression[at];
      continue;
    }
    const char escaped = expression[++at];
    if (escaped == 's') {
      result += "\\p{White_Space}";
    } else if (escaped == 'S') {
      result += "\\P{White_Space}";
    } else {
      result += {'\\', escaped};
    }
  }
  return result;
}

// Bytes at the start of `text` that are whole UTF-8 characters.
size_t SoundPrefix(std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  while (at < end) {
    const Character character = DecodeUtf8(at, end);
    if (character.code_point == kBrokenCharacter) break;
    at += character.bytes;
  }
  return at - text.data();
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

Pattern::Pattern(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

absl::StatusOr<Pattern> Pattern::Compile(std::string_view expression) {
  const std::string source = WithWhiteSpaceProperty(expression);
  int error = 0;
  size_t offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &offset, nullptr);
  if (compiled->code == nullptr) {
    return InvalidArgument("pattern \"{}\": {} at offset {}", source, MessageOfError(error), offset);
  }
  // Without a JIT (an architecture that PCRE2 does not know) the interpreter gives the same matches.
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  compiled->context = pcre2_match_context_create(nullptr);
  if (compiled->context == nullptr) return ResourceExhausted("pattern \"{}\": no memory", source);
  pcre2_set_match_limit(compiled->context, kMatchLimit);
  pcre2_set_heap_limit(compiled->context, kHeapLimit_kib);
  return Pattern(std::move(compiled));
}

absl::Status Pattern::ForEachMatch(std::string_view text,
                                   absl::FunctionRef<void(size_t begin, size_t end)> match) const {
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
  if (data == nullptr) return ResourceExhausted("pattern: no memory for a match");
  for (size_t begin = 0; begin < text.size();) {
    const size_t bytes = SoundPrefix(text.substr(begin));
    RETURN_IF_ERROR(MatchSound(text.substr(begin, bytes), data.get(),
                               [&](size_t from, size_t to) { match(begin + from, begin + to); }));
    begin += bytes + 1;  // past a byte that is no UTF-8
  }
  return absl::OkStatus();
}

absl::Status Pattern::MatchSound(std::string_view text, void* match_data,
                                 absl::FunctionRef<void(size_t begin, size_t end)> match) const {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto data = static_cast<pcre2_match_data*>(match_data);
  const size_t* bounds = pcre2_get_ovector_pointer(data);
  uint32_t options = PCRE2_NO_UTF_CHECK;  // PCRE2 would check the whole text for each match
  for (size_t at = 0; at < text.size();) {
    int count = pcre2_match(compiled_->code, subject, text.size(), at, options, data, compiled_->context);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) {
      count = pcre2_match(compiled_->code, subject, text.size(), at, options | PCRE2_NO_JIT, data, compiled_->context);
    }
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) return ResourceExhausted("pattern: {} at byte {} of {}", MessageOfError(count), at, text.size());
    match(bounds[0], bounds[1]);
    // An empty match must not be found again at the same place.
    options = PCRE2_NO_UTF_CHECK | (bounds[0] == bounds[1] ? PCRE2_NOTEMPTY_ATSTART : 0);
    at = bounds[1];
  }
  return absl::OkStatus();
}

}  // namespace inferd::tokenizer
