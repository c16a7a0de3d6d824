// Finds the first of several stop texts in a stream and holds back whatever may still become one.
//
//   ASSIGN_OR_RETURN(auto stops, StopTexts::Create({"\n\n", "END"}));
//   StopMatcher matcher(*stops);
//   std::string text = matcher.Push("The E");      // "The ": the E may begin END
//   text = matcher.Push("ND.");                    // "", and matcher.stopped() is "END"
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sampling/byte_automaton.h"

namespace inferd::output {

class StopTexts {
 public:
  static constexpr size_t kMostTexts = 16;

  // INVALID_ARGUMENT for too many texts, or one that is empty or too long.
  static absl::Status Check(const std::vector<std::string>& texts);
  // The same errors.
  static absl::StatusOr<std::shared_ptr<const StopTexts>> Create(const std::vector<std::string>& texts);

 private:
  friend class StopMatcher;
  explicit StopTexts(const std::vector<std::string>& texts) : texts_(texts), automaton_(texts) {}

  std::vector<std::string> texts_;
  sampling::ByteAutomaton automaton_;
};

class StopMatcher {
 public:
  // `include`: the stop text is given out, too.
  explicit StopMatcher(std::shared_ptr<const StopTexts> texts, bool include = false)
      : texts_(std::move(texts)), include_(include) {}

  // What can be given out of the text so far. Nothing more comes after a stop text.
  std::string Push(std::string_view text);
  // What was held back, at the end of the stream.
  std::string Finish();

  const std::optional<std::string>& stopped() const { return stopped_; }

 private:
  std::shared_ptr<const StopTexts> texts_;
  bool include_;
  int32_t state_ = 0;
  std::string held_;
  std::optional<std::string> stopped_;
};

}  // namespace inferd::output
