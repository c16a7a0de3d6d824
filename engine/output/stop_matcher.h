// Finds the first of several stop texts in a stream and holds back whatever may still become one.
//
//   ASSIGN_OR_RETURN(auto stops, StopTexts::Create({"\n\n", "END"}));
//   StopMatcher matcher(*stops);
//   std::string text = matcher.Push("The E");      // "The ": the E may begin END
//   text = matcher.Push("ND.");                    // "", and matcher.stopped() is "END"
//
// The automaton is that of Aho and Corasick ("Efficient string matching", CACM 1975), one step a byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inferd::output {

class StopTexts {
 public:
  static constexpr size_t kMostTexts = 16, kMostBytes = 256;

  // INVALID_ARGUMENT for too many texts, or one that is empty or too long.
  static absl::Status Check(const std::vector<std::string>& texts);
  // The same errors.
  static absl::StatusOr<std::shared_ptr<const StopTexts>> Create(const std::vector<std::string>& texts);

 private:
  friend class StopMatcher;
  struct Node {
    std::array<int32_t, 256> next;
    int32_t depth = 0;   // bytes of a stop text that are matched
    int32_t match = -1;  // longest text that ends here
  };
  explicit StopTexts(const std::vector<std::string>& texts);

  std::vector<std::string> texts_;
  std::vector<Node> nodes_;
};

class StopMatcher {
 public:
  explicit StopMatcher(std::shared_ptr<const StopTexts> texts) : texts_(std::move(texts)) {}

  // What can be given out of the text so far. Nothing more comes after a stop text.
  std::string Push(std::string_view text);
  // What was held back, at the end of the stream.
  std::string Finish();

  const std::optional<std::string>& stopped() const { return stopped_; }

 private:
  std::shared_ptr<const StopTexts> texts_;
  int32_t node_ = 0;
  std::string held_;
  std::optional<std::string> stopped_;
};

}  // namespace inferd::output
